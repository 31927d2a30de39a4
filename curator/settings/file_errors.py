"""Errors about files as sentences, for the owner: without the numbers of the operating system."""

from pathlib import Path


def in_words(error: BaseException) -> str:
    """What an error says; of one that the operating system raised, what is wrong with which path.

    Examples:
        >>> in_words(FileNotFoundError(2, "No such file or directory", "visits.csv"))
        'there is no file visits.csv'
    """
    if not isinstance(error, OSError) or not error.strerror:
        return str(error)
    said = f"{error.strerror[0].lower()}{error.strerror[1:]}"
    if error.filename is None:
        return said
    path = Path(str(error.filename))
    match error:
        case FileNotFoundError() if path.parent.is_dir():
            return f"there is no file {path}"
        case FileNotFoundError():
            return f"there is no folder {path.parent}"
        case FileExistsError():
            return f"there is a {path} already"
        case IsADirectoryError():
            return f"{path} is a folder; name a file"
        case NotADirectoryError():
            return f"{next(filter(Path.is_file, path.parents), path)} is no folder"
        case PermissionError():
            return f"this account has no right to use {path}"
    return f"{path}: {said}"
