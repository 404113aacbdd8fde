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


def write_one(tree, path, size, stored, reparse):
    """A hole of `size` bytes with the tag, and what stands in its stream (None: no stream)."""
    with open(tree.at(path), 'wb') as stream:
        stream.truncate(size)
    if stored is not None:
        with open(tree.at(path) + b':WofCompressedData', 'wb') as stream:
            stream.write(stored)
    tree.attribute(path, 'system.ntfs_reparse_data', contents.reparse(0x80000017, reparse))


def write_files(tree, folder):
    """Files of all sizes that matter, by each algorithm."""
    wim = load()
    if wim is None:
        return
    tree.directory(folder)
    base = contents.text(8000) + contents.noise(51, 50000) + bytes(60000)
    for name, (algorithm, _, chunk) in ALGORITHMS.items():
        long = (base * (6 * chunk * 200 // len(base) + 1))[:chunk * 1100 + 77]
        for kind, data in (('byte', b'x'), ('small', base[:3000]), ('chunk', base[:chunk]),
                           ('over', base[:chunk + 1]), ('exact', base[:chunk * 3]), ('big', base),
                           ('long', long if algorithm == 0 else long[:chunk * 40])):
            path = '%s/%s-%s.bin' % (folder, name, kind)
            write_one(tree, path, len(data), compressed_stream(wim, data, name),
                      struct.pack('<IIII', 1, 2, 1, algorithm))
            tree.record(path, '', data, 'data')


def write_damaged_files(tree, folder):
    """Each fails with its reason, and nothing else does."""
    wim = load()
    if wim is None:
        return
    tree.directory(folder)
    data = contents.text(3000)[:5 * 4096]
    good = compressed_stream(wim, data, 'xpress4k')
    ends = struct.unpack('<4I', good[:16])

    def table(*changed):
        return struct.pack('<4I', *changed) + good[16:]

    xpress4k = struct.pack('<IIII', 1, 2, 1, 0)
    for name, stored, reparse, reason in (
            ('backwards', table(ends[1], ends[0], *ends[2:]), xpress4k, 'wof-bad-chunk'),
            ('past-the-end', table(*ends[:3], 0xFFFFFFF0), xpress4k, 'wof-bad-chunk'),
            ('empty-chunk', table(ends[0], ends[0], *ends[2:]), xpress4k, 'wof-bad-chunk'),
            ('long-chunk', table(ends[0], ends[0] + 5000, ends[0] + 5001, ends[0] + 5002) +
             bytes(9000), xpress4k, 'wof-bad-chunk'),
            ('no-code', good[:16] + bytes(len(good) - 16), xpress4k, 'wof-bad-chunk'),
            ('cut', good[:ends[1]], xpress4k, 'wof-bad-chunk'),
            ('table-alone', good[:16], xpress4k, 'wof-bad-chunk'),
            ('half-a-table', good[:7], xpress4k, 'wof-bad-chunk'),
            ('no-stream', None, xpress4k, 'wof-bad-chunk'),
            ('empty-stream', b'', xpress4k, 'wof-bad-chunk'),
            ('algorithm', good, struct.pack('<IIII', 1, 2, 1, 9), 'reparse-unsupported'),
            ('version', good, struct.pack('<IIII', 2, 2, 1, 0), 'reparse-unsupported'),
            ('wimboot', good, struct.pack('<IIII', 1, 1, 1, 0), 'reparse-unsupported'),
            ('short-tag', good, b'\1\0\0\0', 'reparse-unsupported')):
        path = '%s/%s.bin' % (folder, name)
        write_one(tree, path, len(data), stored, reparse)
        tree.record(path, '', data, reason)
