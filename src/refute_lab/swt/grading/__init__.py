"""What predicted tests are worth (SWT-Bench, section 3): states, verdicts, coverage, records."""
