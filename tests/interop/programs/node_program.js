// SPDX-License-Identifier: GPL-3.0-or-later
// Google's Node library as the tests drive it: a JSON object a line in, one a line out. The verbs
// are those of library_client.py.
'use strict';
const path = require('path');
const readline = require('readline');
const home = path.join(process.env.INTEROP_NPM, 'node_modules', '@google-cloud', 'storage');
const {Storage, TransferManager} = require(home);
const {version} = require(path.join(home, 'package.json'));
const {PassThroughClient} = require(
    path.join(process.env.INTEROP_NPM, 'node_modules', 'google-auth-library'));

const MIB = 1 << 20;
const apiEndpoint = process.env.STORAGE_EMULATOR_HOST;
// With the variable set the library leaves "/storage/v1" out of its paths.
delete process.env.STORAGE_EMULATOR_HOST;
const storage = new Storage({
  apiEndpoint, projectId: 'test', useAuthWithCustomEndpoint: false,
  authClient: new PassThroughClient(),
});
const bucket = storage.bucket(process.env.INTEROP_BUCKET);
const manager = new TransferManager(bucket);

function facts(m) {
  return {
    size: Number(m.size), crc32c: m.crc32c, md5: m.md5Hash || null,
    generation: String(m.generation), metadata: m.metadata || {},
  };
}

async function stat(name) {
  const [metadata] = await bucket.file(name).getMetadata();
  return facts(metadata);
}

const verbs = {
  async version() {
    return {version};
  },
  async upload({file, name, if_new}) {
    const [uploaded] = await bucket.upload(file, {
      destination: name, resumable: false, validation: 'crc32c',
      preconditionOpts: if_new ? {ifGenerationMatch: 0} : {},
    });
    return facts(uploaded.metadata);
  },
  // Resumable, in chunks.
  async upload_large({file, name}) {
    await bucket.upload(file, {
      destination: name, resumable: true, chunkSize: 4 * MIB, validation: 'crc32c',
    });
    return stat(name);
  },
  async download({name, file}) {
    await bucket.file(name).download({destination: file, validation: 'crc32c'});
    return {};
  },
  // In slices, side by side.
  async download_large({name, file}) {
    await manager.downloadFileInChunks(bucket.file(name), {
      destination: file, chunkSizeBytes: 4 * MIB, concurrencyLimit: 4, validation: 'crc32c',
    });
    return {};
  },
  async stat({name}) {
    return stat(name);
  },
  async list({prefix, delimiter}) {
    const prefixes = [];
    const names = [];
    let pageToken;
    do {
      const [files, , page] = await bucket.getFiles(
          {prefix, delimiter, pageToken, autoPaginate: false});
      files.forEach(f => names.push(f.name));
      prefixes.push(...(page.prefixes || []));
      pageToken = page.nextPageToken;
    } while (pageToken);
    return {names, prefixes};
  },
  async compose({name, sources}) {
    const target = bucket.file(name);
    target.metadata.contentType = 'text/plain';
    await bucket.combine(sources.map(s => bucket.file(s)), target, {ifGenerationMatch: 0});
    return stat(name);
  },
  async copy({source, name}) {
    await bucket.file(source).copy(bucket.file(name));
    return stat(name);
  },
  async update({name, metadata}) {
    const [m] = await bucket.file(name).setMetadata({metadata});
    return facts(m);
  },
  async delete({names}) {
    await Promise.all(names.map(name => bucket.file(name).delete()));
    return {};
  },
};

async function main() {
  for await (const line of readline.createInterface({input: process.stdin})) {
    const request = JSON.parse(line);
    let reply;
    try {
      reply = await verbs[request.verb](request);
    } catch (error) {
      reply = {error: String(error.message).slice(0, 500), status: Number(error.code) || 0};
    }
    process.stdout.write(JSON.stringify(reply) + '\n');
  }
}

main();
