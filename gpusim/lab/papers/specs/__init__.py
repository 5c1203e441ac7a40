"""The files of a publication, checked: runs, figures, claims."""
