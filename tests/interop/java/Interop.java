// SPDX-License-Identifier: GPL-3.0-or-later

import com.google.cloud.NoCredentials;
import com.google.cloud.ReadChannel;
import com.google.cloud.storage.Blob;
import com.google.cloud.storage.BlobId;
import com.google.cloud.storage.BlobInfo;
import com.google.cloud.storage.Storage;
import com.google.cloud.storage.Storage.BlobListOption;
import com.google.cloud.storage.Storage.BlobTargetOption;
import com.google.cloud.storage.Storage.BlobWriteOption;
import com.google.cloud.storage.StorageException;
import com.google.cloud.storage.StorageOptions;
import com.google.gson.Gson;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Google's Java library as the tests drive it: a JSON object a line in, one a line out. The verbs
 * are those of library_client.py.
 */
public final class Interop {
    private static final int MIB = 1 << 20;
    private final Storage storage;
    private final String bucket;

    private Interop() {
        storage = StorageOptions.http()
                .setHost(System.getenv("STORAGE_EMULATOR_HOST"))
                .setProjectId("test")
                .setCredentials(NoCredentials.getInstance())
                .build().getService();
        bucket = System.getenv("INTEROP_BUCKET");
    }

    private BlobId id(String name) {
        return BlobId.of(bucket, name);
    }

    private static Map<String, Object> facts(Blob blob) {
        Map<String, Object> facts = new TreeMap<>();
        facts.put("size", blob.getSize());
        facts.put("crc32c", blob.getCrc32c());
        facts.put("md5", blob.getMd5());
        facts.put("generation", String.valueOf(blob.getGeneration()));
        facts.put("metadata", blob.getMetadata() == null ? Map.of() : blob.getMetadata());
        return facts;
    }

    private Map<String, Object> stat(String name) {
        Blob blob = storage.get(id(name));
        if (blob == null) {
            throw new StorageException(404, "not found: " + name);
        }
        return facts(blob);
    }

    private Map<String, Object> upload(Path file, String name, boolean ifNew) throws Exception {
        List<BlobTargetOption> options = new ArrayList<>();
        if (ifNew) {
            options.add(BlobTargetOption.doesNotExist());
        }
        return facts(storage.create(BlobInfo.newBuilder(id(name)).build(),
                Files.readAllBytes(file), options.toArray(new BlobTargetOption[0])));
    }

    /** Resumable, in chunks. */
    private Map<String, Object> uploadLarge(Path file, String name) throws Exception {
        storage.createFrom(BlobInfo.newBuilder(id(name)).build(), file, 4 * MIB,
                new BlobWriteOption[0]);
        return stat(name);
    }

    /** By ranges, through a channel. */
    private Map<String, Object> downloadLarge(String name, Path file) throws Exception {
        ByteBuffer buffer = ByteBuffer.allocate(3 * MIB);
        try (ReadChannel source = storage.reader(id(name));
                OutputStream out = Files.newOutputStream(file)) {
            source.setChunkSize(4 * MIB);
            while (source.read(buffer) >= 0) {
                out.write(buffer.array(), 0, buffer.position());
                buffer.clear();
            }
        }
        return Map.of();
    }

    private Map<String, Object> list(String prefix, String delimiter) {
        List<BlobListOption> options = new ArrayList<>();
        options.add(BlobListOption.prefix(prefix));
        if (delimiter != null) {
            options.add(BlobListOption.delimiter(delimiter));
        }
        List<String> names = new ArrayList<>();
        List<String> prefixes = new ArrayList<>();
        for (Blob blob : storage.list(bucket, options.toArray(new BlobListOption[0]))
                .iterateAll()) {
            (blob.isDirectory() ? prefixes : names).add(blob.getName());
        }
        return Map.of("names", names, "prefixes", prefixes);
    }

    private Map<String, Object> compose(String name, List<String> sources) {
        return facts(storage.compose(Storage.ComposeRequest.newBuilder()
                .addSource(sources)
                .setTarget(BlobInfo.newBuilder(id(name)).setContentType("text/plain").build())
                .setTargetOptions(BlobTargetOption.doesNotExist())
                .build()));
    }

    /** Together: one batch request. */
    private Map<String, Object> delete(List<String> names) {
        List<BlobId> ids = new ArrayList<>();
        names.forEach(name -> ids.add(id(name)));
        if (storage.delete(ids).contains(false)) {
            throw new StorageException(404, "one of the objects was not there");
        }
        return Map.of();
    }

    private static String text(JsonObject request, String member) {
        JsonElement value = request.get(member);
        return value == null || value.isJsonNull() ? null : value.getAsString();
    }

    private static List<String> texts(JsonObject request, String member) {
        List<String> all = new ArrayList<>();
        request.getAsJsonArray(member).forEach(value -> all.add(value.getAsString()));
        return all;
    }

    private Map<String, Object> serve(JsonObject request) throws Exception {
        String name = text(request, "name");
        Path file = request.has("file") ? Paths.get(text(request, "file")) : null;
        switch (text(request, "verb")) {
            case "version":
                return Map.of("version", StorageOptions.version());
            case "upload":
                return upload(file, name,
                        request.has("if_new") && request.get("if_new").getAsBoolean());
            case "upload_large":
                return uploadLarge(file, name);
            case "download":
                storage.downloadTo(id(name), file);
                return Map.of();
            case "download_large":
                return downloadLarge(name, file);
            case "stat":
                return stat(name);
            case "list":
                return list(text(request, "prefix"), text(request, "delimiter"));
            case "compose":
                return compose(name, texts(request, "sources"));
            case "copy":
                return facts(storage.copy(Storage.CopyRequest.of(id(text(request, "source")),
                        id(name))).getResult());
            case "update":
                Map<String, String> metadata = new HashMap<>();
                request.getAsJsonObject("metadata").entrySet()
                        .forEach(e -> metadata.put(e.getKey(), e.getValue().getAsString()));
                return facts(storage.get(id(name)).toBuilder().setMetadata(metadata).build()
                        .update());
            case "delete":
                return delete(texts(request, "names"));
            default:
                throw new IllegalArgumentException("no such verb");
        }
    }

    public static void main(String[] arguments) throws Exception {
        Interop program = new Interop();
        Gson gson = new Gson();
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        BufferedReader lines = new BufferedReader(
                new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            Map<String, Object> reply;
            try {
                reply = program.serve(gson.fromJson(line, JsonObject.class));
            } catch (StorageException error) {
                reply = Map.of("error", String.valueOf(error), "status", error.getCode());
            } catch (Exception error) {
                reply = Map.of("error", String.valueOf(error), "status", 0);
            }
            out.println(gson.toJson(reply));
        }
    }
}
