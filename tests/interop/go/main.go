// SPDX-License-Identifier: GPL-3.0-or-later

// Google's Go library as the tests drive it: a JSON object a line in, one a line out. The verbs
// are those of library_client.py.
package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"runtime/debug"

	"cloud.google.com/go/storage"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/iterator"
)

const mib = 1 << 20

type request struct {
	Verb      string            `json:"verb"`
	File      string            `json:"file"`
	Name      string            `json:"name"`
	Source    string            `json:"source"`
	IfNew     bool              `json:"if_new"`
	Prefix    string            `json:"prefix"`
	Delimiter string            `json:"delimiter"`
	Names     []string          `json:"names"`
	Sources   []string          `json:"sources"`
	Metadata  map[string]string `json:"metadata"`
}

type reply map[string]any

type program struct {
	bucket *storage.BucketHandle
}

func facts(a *storage.ObjectAttrs) reply {
	crc := make([]byte, 4)
	binary.BigEndian.PutUint32(crc, a.CRC32C)
	out := reply{"size": a.Size, "crc32c": base64.StdEncoding.EncodeToString(crc), "md5": nil,
		"generation": fmt.Sprint(a.Generation), "metadata": a.Metadata}
	if len(a.MD5) > 0 {
		out["md5"] = base64.StdEncoding.EncodeToString(a.MD5)
	}
	return out
}

// With a chunk size of 0 the whole file travels in one request, else by resumable upload.
func (p *program) upload(ctx context.Context, r request, chunk int) (reply, error) {
	data, err := os.ReadFile(r.File)
	if err != nil {
		return nil, err
	}
	object := p.bucket.Object(r.Name)
	if r.IfNew {
		object = object.If(storage.Conditions{DoesNotExist: true})
	}
	w := object.NewWriter(ctx)
	w.ChunkSize = chunk
	w.CRC32C = crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli))
	w.SendCRC32C = true
	if _, err = w.Write(data); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	if err = w.Close(); err != nil {
		return nil, err
	}
	return facts(w.Attrs()), nil
}

func (p *program) download(ctx context.Context, r request) (reply, error) {
	source, err := p.bucket.Object(r.Name).NewReader(ctx)
	if err != nil {
		return nil, err
	}
	defer source.Close()
	file, err := os.Create(r.File)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	_, err = io.Copy(file, source) // compares the checksum at the end
	return reply{}, err
}

func (p *program) downloadRanges(ctx context.Context, r request) (reply, error) {
	file, err := os.Create(r.File)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	attrs, err := p.bucket.Object(r.Name).Attrs(ctx)
	if err != nil {
		return nil, err
	}
	object := p.bucket.Object(r.Name).Generation(attrs.Generation)
	for offset := int64(0); offset < attrs.Size; offset += 4 * mib {
		source, err := object.NewRangeReader(ctx, offset, min(4*mib, attrs.Size-offset))
		if err != nil {
			return nil, err
		}
		_, err = io.Copy(file, source)
		source.Close()
		if err != nil {
			return nil, err
		}
	}
	return reply{}, nil
}

func (p *program) list(ctx context.Context, r request) (reply, error) {
	names, prefixes := []string{}, []string{}
	pages := p.bucket.Objects(ctx, &storage.Query{Prefix: r.Prefix, Delimiter: r.Delimiter})
	for {
		attrs, err := pages.Next()
		if errors.Is(err, iterator.Done) {
			return reply{"names": names, "prefixes": prefixes}, nil
		}
		if err != nil {
			return nil, err
		}
		if attrs.Prefix != "" {
			prefixes = append(prefixes, attrs.Prefix)
		} else {
			names = append(names, attrs.Name)
		}
	}
}

func (p *program) compose(ctx context.Context, r request) (reply, error) {
	var sources []*storage.ObjectHandle
	for _, name := range r.Sources {
		sources = append(sources, p.bucket.Object(name))
	}
	target := p.bucket.Object(r.Name).If(storage.Conditions{DoesNotExist: true})
	attrs, err := target.ComposerFrom(sources...).Run(ctx)
	if err != nil {
		return nil, err
	}
	return facts(attrs), nil
}

func (p *program) attrs(attrs *storage.ObjectAttrs, err error) (reply, error) {
	if err != nil {
		return nil, err
	}
	return facts(attrs), nil
}

func (p *program) delete(ctx context.Context, r request) (reply, error) {
	for _, name := range r.Names {
		if err := p.bucket.Object(name).Delete(ctx); err != nil {
			return nil, err
		}
	}
	return reply{}, nil
}

func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			if module.Path == "cloud.google.com/go/storage" {
				return module.Version
			}
		}
	}
	return "unknown"
}

func (p *program) serve(ctx context.Context, r request) (reply, error) {
	object := p.bucket.Object(r.Name)
	switch r.Verb {
	case "version":
		return reply{"version": version()}, nil
	case "upload":
		return p.upload(ctx, r, 0)
	case "upload_large":
		return p.upload(ctx, r, 4*mib)
	case "download":
		return p.download(ctx, r)
	case "download_large":
		return p.downloadRanges(ctx, r)
	case "stat":
		return p.attrs(object.Attrs(ctx))
	case "list":
		return p.list(ctx, r)
	case "compose":
		return p.compose(ctx, r)
	case "copy":
		return p.attrs(object.CopierFrom(p.bucket.Object(r.Source)).Run(ctx))
	case "update":
		return p.attrs(object.Update(ctx, storage.ObjectAttrsToUpdate{Metadata: r.Metadata}))
	case "delete":
		return p.delete(ctx, r)
	}
	return nil, fmt.Errorf("no verb is named %s", r.Verb)
}

func main() {
	ctx := context.Background()
	client, err := storage.NewClient(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	p := &program{client.Bucket(os.Getenv("INTEROP_BUCKET"))}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(make([]byte, mib), 16*mib)
	out := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var r request
		answer := reply{}
		err := json.Unmarshal(lines.Bytes(), &r)
		if err == nil {
			answer, err = p.serve(ctx, r)
		}
		if err != nil {
			var api *googleapi.Error
			status := 0
			if errors.As(err, &api) {
				status = api.Code
			}
			answer = reply{"error": err.Error(), "status": status}
		}
		_ = out.Encode(answer) // a broken pipe ends the program at the next read
	}
}
