#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write the seeds of all fuzz targets into tests/fuzz/corpus: real structures out of a volume that
mkntfs and ntfs-3g made, and replies as the Storage API gives them. Files that are there stay, since
inputs that once crashed are kept beside the seeds."""
import base64
import gzip
import json
import os
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), 'images'))

import contents        # noqa: E402  (the path is set just above)
import disk_kinds      # noqa: E402
import disk_tables     # noqa: E402
import disks           # noqa: E402
import expectation     # noqa: E402
import kinds           # noqa: E402
import ntfs_image      # noqa: E402
import wof             # noqa: E402

RECORD = 1024
MIB = 1 << 20
SMALL_KINDS = ('ntfs', 'bitlocker', 'refs', 'FAT12', 'crypto_LUKS', 'LVM2_member', 'swap',
               'vhdx', 'tar')
SMALL_TABLES = ('first-gpt', 'both-gpts', 'hybrid', 'empty-mbr', 'old-volume-gpt',
                'old-volume-mbr', 'old-fat-mbr', 'old-gpt-mbr', 'doubtful-mbr',
                'hybrid-without-gpt', 'outside')


def put(target, name, data):
    folder = os.path.join(HERE, 'corpus', target)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), 'wb') as stream:
        stream.write(data)


def make_volume(folder):
    image = os.path.join(folder, 'seed.img')
    ntfs_image.make_volume(image, 24 * MIB, 'SEED')
    tree = expectation.Tree()
    with ntfs_image.Mounted(image) as tree.root:
        tree.file('a.txt', b'resident')
        tree.file('plain.bin', contents.noise(1, 30000))
        tree.pieces('sparse.bin', [(100000, b'x')], 400000)
        tree.stream('a.txt', 'Zone.Identifier', b'[ZoneTransfer]\r\nZoneId=3\r\n')
        tree.directory('lznt1')
        tree.attribute('lznt1', 'system.ntfs_attrib_be', kinds.COMPRESSED)
        tree.file('lznt1/text.txt', contents.text(2000))
        tree.directory('folder with a long name, so that it has an 8.3 twin')
        for i in range(60):
            tree.file('folder with a long name, so that it has an 8.3 twin/%d' % i, b'')
        kinds.write_reparse(tree)
        for i in range(120):
            tree.stream('plain.bin', 'stream %d' % i, b'x' * 700)
    return image


def fixed(record):
    """A record without its fix-ups, as the parsers behind them see it."""
    record = bytearray(record)
    at, count = struct.unpack_from('<HH', record, 4)
    for i in range(1, count):
        record[512 * i - 2:512 * i] = record[at + 2 * i:at + 2 * i + 2]
    return bytes(record)


def attributes(record):
    """(type, whole attribute) of each."""
    at = struct.unpack_from('<H', record, 20)[0]
    while at + 8 <= len(record):
        kind, length = struct.unpack_from('<II', record, at)
        if kind == 0xFFFFFFFF or length == 0:
            return
        yield kind, record[at:at + length]
        at += length


def resident_value(attribute):
    size, at = struct.unpack_from('<IH', attribute, 16)
    return attribute[at:at + size]


def write_volume_seeds(image):
    with open(image, 'rb') as stream:
        data = stream.read()
    put('fuzz_boot', 'mkntfs', data[:512])
    cluster = 4096
    table = data[struct.unpack_from('<Q', data, 48)[0] * cluster:]
    records = [table[i * RECORD:(i + 1) * RECORD] for i in range(400)]
    records = [one for one in records if one[:4] == b'FILE' and one[22] & 1]
    seen = set()
    for number, record in enumerate(records):
        shape = tuple(kind for kind, _ in attributes(fixed(record)))
        if shape in seen or len(seen) >= 24:
            continue
        seen.add(shape)
        put('fuzz_record', 'record%d' % number, b'\1' + record)
        put('fuzz_scan', 'record%d' % number, record)
        write_attribute_seeds(number, fixed(record), data, cluster)
    put('fuzz_scan', 'some', b''.join(records[24:32]))
    with tempfile.NamedTemporaryFile() as log:
        subprocess.run(['ntfscat', '-f', '-i', '2', image], check=True, stdout=log)
        log.seek(0)
        head = log.read(8192)
    put('fuzz_log_file', 'mkntfs', head.rstrip(b'\xff')[:4096])
    page = bytearray(4096)
    struct.pack_into('<4sHHQIIHhH', page, 0, b'RSTR', 30, 9, 0, 4096, 4096, 48, 1, 1)
    struct.pack_into('<QHHHHIHHQ', page, 48, 12345678, 1, 0xffff, 0, 0, 67, 96, 48, 4 * MIB)
    put('fuzz_log_file', 'restart', bytes(page))


def write_attribute_seeds(number, record, data, cluster):
    for kind, attribute in attributes(record):
        if attribute[8] == 0 and kind == 0xC0:
            put('fuzz_reparse', 'record%d' % number, resident_value(attribute))
        if attribute[8] == 0 and kind == 0x90:
            put('fuzz_index', 'root%d' % number, b'\0' + resident_value(attribute))
        if attribute[8] == 0 and kind == 0x20:
            put('fuzz_attribute_list', 'record%d' % number, resident_value(attribute))
        if attribute[8] == 1:
            at = struct.unpack_from('<H', attribute, 32)[0]
            count = struct.unpack_from('<Q', attribute, 24)[0] + 1
            pairs = attribute[at:]
            put('fuzz_runlist', 'record%d-%x' % (number, kind),
                struct.pack('<QH', len(data) // cluster, count & 0xffff) + pairs)
            if kind == 0xA0:
                start = int.from_bytes(pairs[2:2 + (pairs[0] >> 4)], 'little') * cluster
                put('fuzz_index', 'block%d' % number, b'\2' + data[start:start + 4095])
                put('fuzz_index', 'inside%d' % number, b'\6' + data[start:start + 4095])
            if kind == 0x20:
                start = int.from_bytes(pairs[2:2 + (pairs[0] >> 4)], 'little') * cluster
                size = struct.unpack_from('<Q', attribute, 48)[0]
                put('fuzz_attribute_list', 'record%d' % number, data[start:start + size][:4000])


def write_codec_seeds():
    # 'abc' and a copy of it; a run; a plain chunk and an end.
    put('fuzz_lznt1', 'copy', bytes.fromhex('05b008616263' + '0020' + '0000'))
    put('fuzz_lznt1', 'run', bytes.fromhex('03b002' + '78fc0f'))
    put('fuzz_lznt1', 'plain', b'\xff\x3f' + bytes(range(256)) * 16 + b'\0\0')
    wim = wof.load()
    for name, (algorithm, _, chunk) in wof.ALGORITHMS.items() if wim else ():
        data = (contents.text(600) + bytes(20000))[:chunk]
        put('fuzz_reparse', name, contents.reparse(
            0x80000017, struct.pack('<IIII', 1, 2, 1, algorithm))
            + wof.compressed_stream(wim, data, name))


def sectors(path, numbers):
    pieces = b''
    with open(path, 'rb') as stream:
        for number in numbers:
            stream.seek(number * 512)
            pieces += struct.pack('<H', number) + stream.read(512).ljust(512, b'\0')
    return pieces


def write_disk_seeds(folder):
    size = 65536
    path = os.path.join(folder, 'disk')
    last = size - 1
    for name, script in (('gpt', 'label: gpt\nstart=2048, size=8192, type=%s\n'
                          'start=12288, size=8192, type=%s\n' % (disks.DATA, disks.RECOVERY)),
                         ('mbr', 'label: dos\nstart=2048, size=4096, type=7\n'
                          'start=8192, size=30000, type=5\nstart=8256, size=1000, type=7\n'
                          'start=12288, size=1000, type=c\n')):
        with open(path, 'wb') as stream:
            stream.truncate(size * 512)
        disks.write_table(path, script)
        put('fuzz_partitions', name, sectors(path, (0, 1, 2, last, last - 32, 8192, 12224, 2048)))
    for kind in SMALL_KINDS:
        disk_kinds.MAKERS[kind](path)
        put('fuzz_partitions', kind, sectors(path, (0, 1, 2, 3)))
    # Their disks are smaller than that of the target, as if it had been enlarged.
    for case in SMALL_TABLES:
        disk_tables.MAKERS[case][0](path)
        put('fuzz_partitions', case, sectors(path, (0, 1, 2, 2048, 12288, 32735, 32767)))
    write_chain_seeds()


def write_chain_seeds():
    """Chains of logical partitions: whole, in a circle, with an empty link, leading to nothing."""
    start = 2048
    for name, ways in (('chain', (64, 128, None)), ('circle', (64, 128, 0)),
                       ('nothing', (64, 4096, None)), ('out', (64, 0xfffffff0, None))):
        pieces = struct.pack('<H', 0) + mbr_sector((5, start, 30000))
        for i, way in enumerate(ways):
            entries = [(0 if i == 1 else 7, 8, 0 if i == 1 else 40)]
            if way is not None:
                entries.append((5, way, 64))
            pieces += struct.pack('<H', start + 64 * i) + mbr_sector(*entries)
        put('fuzz_partitions', 'mbr-' + name, pieces)


def mbr_sector(*entries):
    sector = bytearray(512)
    sector[510:] = b'\x55\xaa'
    for i, (kind, first, count) in enumerate(entries):
        sector[446 + 16 * i + 4] = kind
        struct.pack_into('<II', sector, 446 + 16 * i + 8, first, count)
    return bytes(sector)


def write_reply_seeds():
    item = {'kind': 'storage#object', 'name': 'p/dir/a.txt', 'generation': '1700000000000001',
            'size': '26', 'crc32c': 'AAAAAA==', 'componentCount': 3,
            'metadata': {'winch-run': '20261129T220312Z-7f3a9c01'}}
    put('fuzz_gcs_json', 'object', b'\0' + json.dumps(item).encode())
    put('fuzz_gcs_json', 'list', b'\0' + json.dumps(
        {'items': [item, dict(item, name='p/\u00e9\u0000x')], 'prefixes': ['p/dir/'],
         'nextPageToken': 'CgVhLnR4dA=='}).encode())
    put('fuzz_gcs_json', 'bucket', b'\0' + json.dumps(
        {'location': 'EU', 'storageClass': 'STANDARD', 'versioning': {'enabled': True},
         'softDeletePolicy': {'retentionDurationSeconds': '604800'},
         'retentionPolicy': {'retentionPeriod': '60'},
         'hierarchicalNamespace': {'enabled': False}}).encode())
    put('fuzz_gcs_json', 'rights', b'\0' + json.dumps(
        {'permissions': ['storage.objects.create', 'storage.objects.get']}).encode())
    for name, status, body in (
            ('json', 4, json.dumps({'error': {'code': 403, 'message': 'no storage.objects.delete',
                                              'errors': [{'reason': 'forbidden'}]}})),
            ('xml', 4, "<?xml version='1.0' encoding='UTF-8'?><Error><Code>NoSuchBucket</Code>"
                       '<Message>The specified bucket does not exist.</Message></Error>'),
            ('html', 14, '<!DOCTYPE html><html><title>Error 502 (Server Error)!!1</title>'),
            ('plain', 12, 'Rate limit \x1b[31m exceeded')):
        put('fuzz_gcs_error', name, bytes([status, 0]) + body.encode())
    line = {'path': 'dir/a.txt', 'name': 'p/dir/a.txt', 'generation': '17', 'size': 26,
            'crc32c': base64.b64encode(b'abcd').decode(), 'state': 'uploaded', 'form': 'plain',
            'volume': 'p2', 'record': '64', 'sequence': 2}
    put('fuzz_journal', 'line', json.dumps(line).encode())
    put('fuzz_journal', 'stream', json.dumps(dict(line, stream='Zone.Identifier')).encode())
    head = {'schema': 'winch-manifest/1', 'run': '20261129T220312Z-7f3a9c01',
            'destination': 'gs://bucket/p', 'fingerprint': 'ab' * 32, 'options': 'cd' * 32,
            'serials': '0123456789abcdef', 'begun': '2026-11-29T22:03:12Z'}
    text = json.dumps(head).encode()
    put('fuzz_manifest', 'identity', b'\0' + text)
    put('fuzz_manifest', 'packed', b'\1' + gzip.compress(text, mtime=0))
    put('fuzz_manifest', 'lines', b'\1' + gzip.compress(
        (text + b'\n' + json.dumps(line).encode() + b'\n') * 20, mtime=0))
    for name, data in (('name', 'na\u00efve \u202etxt.exe'.encode('utf-16-le')),
                       ('escape', 'a%u0041:\ud800'.encode('utf-16-le', 'surrogatepass')),
                       ('glob', b'\x08**/[a-c]*?.txt/dir/b1.txt'), ('size', b'16M'),
                       ('number', b'18446744073709551615'), ('duration', b'2d'),
                       ('control', b'\x1b]0;title\x07 \xc2\x9b31m \xe2\x80\xa8 \xff')):
        put('fuzz_text', name, data)


def main():
    with tempfile.TemporaryDirectory() as folder:
        write_volume_seeds(make_volume(folder))
        write_disk_seeds(folder)
    write_codec_seeds()
    write_reply_seeds()


if __name__ == '__main__':
    main()
