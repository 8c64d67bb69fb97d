"""python -m crowdcount"""

from .cli import main

main()
