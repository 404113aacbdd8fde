# SPDX-License-Identifier: GPL-3.0-or-later
"""CompactOS (WOF) files, compressed with libwim as Windows does it."""
import ctypes
import struct

import contents

# name: (algorithm of the reparse data, compression type of libwim, bytes of a chunk)
ALGORITHMS = {
    'xpress4k': (0, 1, 4096),
    'lzx': (1, 2, 32768),
    'xpress8k': (2, 1, 8192),
    'xpress16k': (3, 1, 16384),
}


def load():
    """libwim, or None where it is not installed."""
    try:
        wim = ctypes.CDLL('libwim.so.15')
    except OSError:
        return None
    wim.wimlib_global_init(0)
    wim.wimlib_compress.restype = ctypes.c_size_t
    wim.wimlib_compress.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p,
                                    ctypes.c_size_t, ctypes.c_void_p]
    wim.wimlib_create_compressor.argtypes = [ctypes.c_int, ctypes.c_size_t, ctypes.c_uint,
                                             ctypes.POINTER(ctypes.c_void_p)]
    wim.wimlib_free_compressor.argtypes = [ctypes.c_void_p]
    return wim


def compressed_stream(wim, data, name):
    """A table with the end of each chunk but the last, then the chunks."""
    _, kind, size = ALGORITHMS[name]
    compressor = ctypes.c_void_p()
    if wim.wimlib_create_compressor(kind, size, 50, ctypes.byref(compressor)) != 0:
        raise MemoryError('libwim makes no compressor')
    ends, chunks = [], []
    for offset in range(0, len(data), size):
        plain = data[offset:offset + size]
        room = ctypes.create_string_buffer(len(plain))
        length = wim.wimlib_compress(plain, len(plain), room, len(plain) - 1, compressor)
        chunks.append(room.raw[:length] if length else plain)
        ends.append((ends[-1] if ends else 0) + len(chunks[-1]))
    wim.wimlib_free_compressor(compressor)
    return struct.pack('<%dI' % (len(ends) - 1), *ends[:-1]) + b''.join(chunks)


def write_files(tree, folder):
    """One small and one large file per algorithm, as "data" or named as not supported."""
    wim = load()
    if wim is None:
        return
    tree.directory(folder)
    base = contents.text(8000) + contents.noise(51, 50000) + bytes(60000)
    for name, (algorithm, _, _) in ALGORITHMS.items():
        for kind, data in (('small', base[:3000]), ('big', base)):
            path = '%s/%s-%s.bin' % (folder, name, kind)
            with open(tree.at(path), 'wb') as stream:
                stream.truncate(len(data))
            with open(tree.at(path) + b':WofCompressedData', 'wb') as stream:
                stream.write(compressed_stream(wim, data, name))
            tree.attribute(path, 'system.ntfs_reparse_data', contents.reparse(
                0x80000017, struct.pack('<IIII', 1, 2, 1, algorithm)))
            tree.record(path, '', data, 'data|reparse-unsupported')
