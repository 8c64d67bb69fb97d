"""The program: `python -m crowdcount`, and the script `crowdcount`."""

from .interruption import INTERRUPTS


def main() -> None:
    """Run the command line; the process ends with one of the exit codes of `commands.common`."""
    INTERRUPTS.catch()
    from .cli import run  # which takes a while

    run()


if __name__ == "__main__":
    main()
