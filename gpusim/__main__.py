"""`python -m gpusim` is the command line."""

from gpusim.cli.start import main

if __name__ == "__main__":
    main()
