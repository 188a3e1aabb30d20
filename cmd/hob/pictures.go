package main

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"hob/platform/text/lazyregexp"
)

// dataURL matches a line with an embedded picture in an exported conversation.
var dataURL = lazyregexp.New(`^!\[picture\]\(data:image/(png|jpeg|gif|webp);base64,([A-Za-z0-9+/=]+)\)\n?$`)

// pictureExtractor copies Markdown and writes the pictures in it to separate files.
type pictureExtractor struct {
	to     io.Writer
	dir    string // folder for the picture files
	beside string // folder of the Markdown file; picture names are relative to it
	line   []byte // beginning of an incomplete line
	n      int
	fenced []byte // marker that closes the current code fence, nil outside one; text inside a fence is not changed
}

// Write implements io.Writer.
func (p *pictureExtractor) Write(b []byte) (int, error) {
	for rest := b; len(rest) > 0; {
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			p.line = append(p.line, rest...)
			break
		}
		p.line = append(p.line, rest[:i+1]...)
		rest = rest[i+1:]
		if err := p.flushLine(); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}

// flushLine writes the buffered line.
func (p *pictureExtractor) flushLine() error {
	line := p.line
	p.line = p.line[:0]
	if len(line) == 0 {
		return nil
	}
	if m := dataURL.FindSubmatch(line); m != nil && !p.inFence(line) {
		name, err := p.savePicture(string(m[1]), m[2])
		if err != nil {
			return err
		}
		line = fmt.Appendf(nil, "![picture](%s)\n", filepath.ToSlash(name))
	} else if m == nil {
		p.inFence(line)
	}
	_, err := p.to.Write(line)
	return err
}

// inFence tracks code fences and reports whether line is inside one.
func (p *pictureExtractor) inFence(line []byte) bool {
	ticks := line[:len(line)-len(bytes.TrimLeft(line, "`"))]
	switch {
	case p.fenced == nil && len(ticks) >= 3:
		p.fenced = bytes.Clone(ticks)
	case p.fenced != nil && bytes.Equal(bytes.TrimSpace(line), p.fenced):
		p.fenced = nil
	}
	return p.fenced != nil
}

// savePicture writes one picture to a new file and returns the file name to use in the text.
func (p *pictureExtractor) savePicture(kind string, data []byte) (string, error) {
	raw := make([]byte, base64.StdEncoding.DecodedLen(len(data)))
	n, err := base64.StdEncoding.Decode(raw, data)
	if err != nil {
		return "", fmt.Errorf("export: decode a picture: %w", err)
	}
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return "", fmt.Errorf("export: create the folder for pictures: %w", err)
	}
	p.n++
	path := filepath.Join(p.dir, fmt.Sprintf("picture-%d.%s", p.n, kind))
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", fmt.Errorf("export: create a picture: %w; choose an empty folder", err)
	}
	if _, err = f.Write(raw[:n]); err != nil {
		_ = f.Close()
		return "", fmt.Errorf("export: write a picture: %w", err)
	}
	if err := f.Close(); err != nil {
		return "", fmt.Errorf("export: write a picture: %w", err)
	}
	if name, err := filepath.Rel(p.beside, path); err == nil {
		return name, nil
	}
	return path, nil
}
