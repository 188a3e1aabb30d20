package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"image/png"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"hob/platform/host/tray"
	"hob/platform/text/sorting"
)

//go:embed files/Info.plist
var infoPlist string

//go:embed files/entitlements.plist
var entitlements []byte

// entry is a file in an archive. Its content comes from a file or from data.
type entry struct {
	name, from string
	data       []byte
	runs       bool
}

func (e entry) readData() ([]byte, error) {
	if e.from == "" {
		return e.data, nil
	}
	return os.ReadFile(e.from)
}

func (e entry) fileMode() fs.FileMode {
	if e.runs {
		return 0o755
	}
	return 0o644
}

// packArchive packs the program together with its files.
func (o *options) packArchive(t target, program string) error {
	base := fmt.Sprintf("hob_%s_%s_%s", o.plainVersion(), t.os, t.arch)
	list := []entry{{name: filepath.Base(program), from: program, runs: true}, {name: "LICENSE", from: "LICENSE"}, {name: "README.md", from: "README.md"}}
	for _, dir := range []string{"completions", "man"} {
		found, err := filepath.Glob(o.outputPath("files", dir, "*"))
		if err != nil {
			return err
		}
		for _, f := range found {
			list = append(list, entry{name: dir + "/" + filepath.Base(f), from: f})
		}
	}
	for i := range list {
		list[i].name = path.Join(base, list[i].name)
	}
	if t.os == "windows" {
		return o.packEntries(base+".zip", list, o.writeZip)
	}
	return o.packEntries(base+".tar.gz", list, o.writeTar)
}

// packApp builds an unsigned macOS bundle, which the maintainer signs. Signing needs the
// entitlements, which are written next to the bundle.
func (o *options) packApp(t target, program string) error {
	v, _, _ := strings.Cut(o.plainVersion(), "-") // macOS accepts only digits and dots
	list := []entry{
		{name: "Hob.app/Contents/Info.plist", data: []byte(strings.ReplaceAll(infoPlist, "@VERSION@", v))},
		{name: "Hob.app/Contents/MacOS/hob", from: program, runs: true},
		{name: "Hob.app/Contents/PkgInfo", data: []byte("APPL????")},
		{name: "Hob.app/Contents/Resources/Hob.icns", from: o.outputPath("files", "icons", "Hob.icns")},
		{name: "entitlements.plist", data: entitlements},
	}
	return o.packEntries(fmt.Sprintf("app/Hob_%s_%s_unsigned.zip", o.plainVersion(), t.arch), list, o.writeZip)
}

func (o *options) packEntries(name string, list []entry, how func(io.Writer, []entry) error) error {
	sorting.ByFunc(list, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	var b bytes.Buffer
	if err := how(&b, list); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return o.writeOutput(b.Bytes(), name)
}

func (o *options) writeTar(w io.Writer, list []entry) error {
	z := gzip.NewWriter(w)
	t := tar.NewWriter(z)
	for _, e := range list {
		b, err := e.readData()
		if err != nil {
			return err
		}
		if err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: e.name, Size: int64(len(b)), Mode: int64(e.fileMode()), ModTime: o.made}); err != nil {
			return err
		}
		if _, err := t.Write(b); err != nil {
			return err
		}
	}
	return errors.Join(t.Close(), z.Close())
}

func (o *options) writeZip(w io.Writer, list []entry) error {
	z := zip.NewWriter(w)
	for _, e := range list {
		b, err := e.readData()
		if err != nil {
			return err
		}
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: o.made}
		h.SetMode(e.fileMode())
		f, err := z.CreateHeader(h)
		if err != nil {
			return err
		}
		if _, err := f.Write(b); err != nil {
			return err
		}
	}
	return z.Close()
}

// writeChecksums writes the SHA-256 of every released file.
func (o *options) writeChecksums(w io.Writer) error {
	var out strings.Builder
	for _, pattern := range []string{"*.tar.gz", "*.zip", "*.deb", "*.rpm", "app/*.zip"} {
		found, err := filepath.Glob(o.outputPath(pattern))
		if err != nil {
			return err
		}
		for _, f := range found {
			b, err := os.ReadFile(f)
			if err != nil {
				return err
			}
			name, err := filepath.Rel(o.out, f)
			if err != nil {
				return err
			}
			fmt.Fprintf(&out, "%x  %s\n", sha256.Sum256(b), filepath.ToSlash(name))
		}
	}
	fmt.Fprint(w, out.String())
	return o.writeOutput([]byte(out.String()), "SHA256SUMS")
}

// writeIcons writes Hob's icon, as shown in the panel, in the sizes that desktops use.
func (o *options) writeIcons() error {
	for _, size := range []int{48, 128, 256} {
		b, err := encodeIcon(size)
		if err != nil {
			return err
		}
		if err := o.writeOutput(b, "files", "icons", fmt.Sprintf("hob-%d.png", size)); err != nil {
			return err
		}
	}
	b, err := encodeICNS(16, 32, 64, 128, 256, 512)
	if err != nil {
		return err
	}
	return o.writeOutput(b, "files", "icons", "Hob.icns")
}

func encodeIcon(size int) ([]byte, error) {
	var b bytes.Buffer
	err := png.Encode(&b, tray.DrawIcon(tray.Idle, tray.Color, size))
	return b.Bytes(), err
}

// encodeICNS encodes a macOS icon. It consists of images, each with a type for its size. Two types
// may have the same size in pixels, because one of them has twice the resolution.
func encodeICNS(sizes ...int) ([]byte, error) {
	words := map[int][]string{
		16: {"icp4"}, 32: {"icp5", "ic11"}, 64: {"ic12"}, 128: {"ic07"}, 256: {"ic08", "ic13"}, 512: {"ic09", "ic14"},
	}
	var body bytes.Buffer
	for _, size := range sizes {
		p, err := encodeIcon(size)
		if err != nil {
			return nil, err
		}
		for _, w := range words[size] {
			body.WriteString(w)
			_ = binary.Write(&body, binary.BigEndian, uint32(len(p)+8)) // writing to a buffer cannot fail
			body.Write(p)
		}
	}
	head := binary.BigEndian.AppendUint32([]byte("icns"), uint32(body.Len()+8))
	return append(head, body.Bytes()...), nil
}
