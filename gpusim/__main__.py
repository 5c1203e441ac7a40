"""`python -m gpusim`: the command line, as `gpusim` is."""

from gpusim.cli.start import main

if __name__ == "__main__":
    main()
