"""Write records that only the owner of the nonce can have written.

One record is one line: a sequence number, a keyed digest and a JSON object. The key changes with
every record by a one-way function, so code that later finds the current key cannot rewrite what
stands in the file. Only the process that opened the channel writes; a forked child's calls do
nothing.
"""

import os
from json import JSONEncoder  # now: later there may be a json.py of the repository

try:
    from _blake2 import blake2b  # hashlib would load OpenSSL: milliseconds
except ImportError:
    from hashlib import blake2b

HIGH_DESCRIPTOR = 200  # out of the way of tests that count or close low descriptors


def _descriptor(path):
    low = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        import fcntl

        high = fcntl.fcntl(low, getattr(fcntl, "F_DUPFD_CLOEXEC", 1030), HIGH_DESCRIPTOR)
    except (ImportError, OSError, ValueError):
        return low
    os.close(low)
    return high


def open_channel(folder):
    """Take the nonce (its file is gone afterwards) and return the function that writes a record.

    Raises OSError where the nonce has been taken already or the folder cannot be written.
    """
    secret = os.path.join(folder, "secret")
    with open(secret, "rb") as stream:
        nonce = stream.read()
    os.unlink(secret)
    path = os.path.join(folder, "results")
    descriptor = _descriptor(path)
    status = os.fstat(descriptor)
    identity = (status.st_dev, status.st_ino)
    owner = os.getpid()
    state = [blake2b(nonce, person=b"refute probe 1").digest(), 0]
    del nonce
    getpid, fstat, write = os.getpid, os.fstat, os.write
    encode = JSONEncoder().encode
    place = [descriptor]

    def still_open():
        try:
            now = fstat(place[0])
        except OSError:
            return False
        return (now.st_dev, now.st_ino) == identity

    def emit(record):
        """Write one record, a dict of JSON types."""
        if getpid() != owner:
            return
        body = encode(record).encode("ascii")
        key, sequence = state
        digest = blake2b(b"%d " % sequence + body, key=key, digest_size=16).hexdigest()
        state[0] = blake2b(key, person=b"next key").digest()
        state[1] = sequence + 1
        data = b"%d %s " % (sequence, digest.encode("ascii")) + body + b"\n"
        if not still_open():  # a test closed descriptors by number
            try:
                place[0] = _descriptor(path)
            except OSError:
                return
        while data:
            try:
                data = data[write(place[0], data) :]
            except OSError:  # the gap in the sequence tells the reader
                return

    return emit
