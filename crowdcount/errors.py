"""The errors that a user can cause, each one line: what was expected, what was found, what to do."""

#: OpenCV's `cv2.Error.StsNoMem`.
_NO_MEMORY = -4


class CrowdCountError(Exception):
    """Root of every error that stems from the user's input or machine, not from a bug here.

    The command line prints its message on one line and exits with 1; anything else keeps its traceback.
    """


class VideoError(CrowdCountError):
    """A video, image sequence, camera or stream cannot be read as asked."""


class NoFrameError(VideoError):
    """There is no frame in the part of a video that is asked for."""


class SceneError(CrowdCountError):
    """A region of interest, perspective or scene file does not fit the footage or its format."""


class DatasetError(CrowdCountError):
    """A data set or an annotation file is missing, malformed or contradicts itself."""


class ModelError(CrowdCountError):
    """A model file cannot be read, or does not fit the footage or features it is used on."""


class OutputError(CrowdCountError):
    """A result cannot be written where it was asked for."""


class BatchError(CrowdCountError):
    """An archive, the folder of its results or a cluster is not as a batch needs it."""


def one_line(text: str) -> str:
    """A foreign text with blanks in the place of line breaks and all else that terminals or SVG act on, and
    with codes for what is no text in the name of a file."""
    text = text.encode(errors="backslashreplace").decode()
    return "".join(letter if letter.isprintable() else " " for letter in text)


def lacks_memory(error: BaseException) -> bool:
    """Whether an error says that the memory is not enough; OpenCV, which may not be imported, has its own."""
    return isinstance(error, MemoryError) or (type(error).__module__ == "cv2" and error.code == _NO_MEMORY)
