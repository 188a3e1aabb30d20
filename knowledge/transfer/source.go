package transfer

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"hob/platform/text/sorting"
)

// Format is a file format.
type Format string

// Supported formats.
const (
	HobJSONL    Format = "hob jsonl"
	HobMarkdown Format = "hob markdown"
	ChatGPT     Format = "chatgpt"
	Claude      Format = "claude"
	VCard       Format = "vcard"
	// Vault is a folder of linked Markdown notes, Folder is any other folder, and Document is any
	// other file. The caller ingests these as documents.
	Vault    Format = "vault"
	Folder   Format = "folder"
	Document Format = "document"
)

// Source is an opened file or folder.
type Source struct {
	Path   string
	Format Format
	// Authentic is true if this Hob wrote the file and the file is unchanged.
	Authentic bool
	Size      int64

	f       *os.File
	sealed  *sealCheck
	entries []*zip.File // files of an archive
}

// Open opens a file or folder and detects its format. The caller must close the result.
func Open(name string, key []byte) (_ *Source, err error) {
	s := &Source{Path: name, Format: Document}
	if s.f, err = os.Open(name); err != nil {
		return nil, fmt.Errorf("transfer: open the import: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.f.Close())
		}
	}()
	fi, err := s.f.Stat()
	if err != nil {
		return nil, fmt.Errorf("transfer: open the import: %w", err)
	}
	if fi.IsDir() {
		s.Format, err = folderFormat(name)
		return s, err
	}
	if !fi.Mode().IsRegular() {
		return nil, fmt.Errorf("transfer: %s is neither a file nor a folder", name)
	}
	s.Size = fi.Size()
	begin := make([]byte, min(s.Size, 256<<10))
	if _, err := s.f.ReadAt(begin, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("transfer: detect the format: %w", err)
	}
	if bytes.HasPrefix(begin, []byte("PK\x03\x04")) {
		return s, s.scanArchive()
	}
	s.Format = detectFormat(begin)
	if s.Format == HobJSONL || s.Format == HobMarkdown {
		s.sealed, s.Authentic, err = checkSeal(s.f, s.Size, key)
	}
	return s, err
}

// Close closes the file.
func (s *Source) Close() error { return s.f.Close() }

// detectFormat detects the format from the start of a file.
func detectFormat(b []byte) Format {
	text := bytes.TrimLeft(bytes.TrimPrefix(b, []byte("\xef\xbb\xbf")), " \t\r\n")
	switch {
	case bytes.HasPrefix(text, []byte(`{"hob":"memory"`)):
		return HobJSONL
	case bytes.HasPrefix(text, []byte(open+`{"hob":"memory"`)):
		return HobMarkdown
	case len(text) >= 11 && strings.EqualFold(string(text[:11]), "BEGIN:VCARD"):
		return VCard
	case !bytes.HasPrefix(text, []byte("[")):
		return Document
	}
	at := func(key, opens string) int {
		for i := 0; ; i++ {
			n := bytes.Index(text[i:], []byte(key))
			if n < 0 {
				return len(text)
			}
			i += n
			rest, ok := bytes.CutPrefix(bytes.TrimLeft(text[i+len(key):], " \t\r\n"), []byte(":"))
			if ok && bytes.HasPrefix(bytes.TrimLeft(rest, " \t\r\n"), []byte(opens)) {
				return i
			}
		}
	}
	switch m, c := at(`"mapping"`, "{"), at(`"chat_messages"`, "["); {
	case m < c:
		return ChatGPT
	case c < m:
		return Claude
	}
	return Document
}

// scanArchive searches a zip file for conversations. An archive without conversations is a
// document.
func (s *Source) scanArchive() error {
	z, err := zip.NewReader(s.f, s.Size)
	if err != nil {
		return nil //nolint:nilerr // a document that only begins like one
	}
	for _, f := range z.File {
		base := path.Base(f.Name)
		if ok, _ := path.Match("conversations*.json", base); ok && !f.FileInfo().IsDir() {
			s.entries = append(s.entries, f)
		}
	}
	if len(s.entries) == 0 {
		return nil
	}
	sorting.ByFunc(s.entries, func(a, b *zip.File) int { return strings.Compare(a.Name, b.Name) })
	s.Size = 0
	for _, f := range s.entries {
		if f.UncompressedSize64 > maxArchive {
			return fmt.Errorf("transfer: %s is larger than 16 GB when unpacked", f.Name)
		}
		s.Size += int64(f.UncompressedSize64) //nolint:gosec // maxArchive limits the value
	}
	r, err := s.entries[0].Open()
	if err != nil {
		return fmt.Errorf("transfer: %s: %w", s.entries[0].Name, err)
	}
	begin, err := io.ReadAll(io.LimitReader(r, 256<<10))
	if err = errors.Join(err, r.Close()); err != nil {
		return fmt.Errorf("transfer: %s: %w", s.entries[0].Name, err)
	}
	if s.Format = detectFormat(begin); s.Format != ChatGPT && s.Format != Claude {
		s.Format, s.entries = Document, nil
	}
	return nil
}

// folderFormat detects a vault: an Obsidian folder, or notes that link to each other.
func folderFormat(name string) (Format, error) {
	if fi, err := os.Stat(filepath.Join(name, ".obsidian")); err == nil && fi.IsDir() {
		return Vault, nil
	}
	linked, err := hasLinks(name)
	if err != nil {
		return Folder, fmt.Errorf("transfer: detect the format: %w", err)
	}
	if linked {
		return Vault, nil
	}
	return Folder, nil
}

// Records reports whether Read returns records for this format.
func (s *Source) Records() bool { return s.Format != Folder && s.Format != Document }

// Read calls each for every record, and skip with the position of every invalid record. progress
// receives the number of bytes read. Read stops if each returns an error.
func (s *Source) Read(each func(Record) error, skip func(where string, err error), progress func(read int64)) error {
	t := recordFunc{each: each, skip: skip}
	if s.Format == Vault {
		return readVault(s.Path, t)
	}
	var read int64
	count := func(r io.Reader) io.Reader {
		return reader(func(b []byte) (int, error) {
			n, err := r.Read(b)
			read += int64(n)
			progress(read)
			return n, err
		})
	}
	if len(s.entries) > 0 {
		for _, f := range s.entries {
			if err := s.readEntry(f, t, count); err != nil {
				return err
			}
		}
		return nil
	}
	var in io.Reader = io.NewSectionReader(s.f, 0, s.Size)
	if s.Authentic {
		in = s.sealed
	}
	return s.readFormat(count(in), t)
}

func (s *Source) readEntry(f *zip.File, t recordFunc, count func(io.Reader) io.Reader) (err error) {
	r, err := f.Open()
	if err != nil {
		return fmt.Errorf("transfer: %s: %w", f.Name, err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	return s.readFormat(count(io.LimitReader(r, maxArchive)), t) // limit the size, because the archive directory may be wrong
}

func (s *Source) readFormat(r io.Reader, t recordFunc) error {
	switch s.Format {
	case HobJSONL:
		return readJSONL(r, t)
	case HobMarkdown:
		return readMarkdown(r, t)
	case ChatGPT:
		return readChatGPT(r, t)
	case Claude:
		return readClaude(r, t)
	case VCard:
		return readVCard(r, t)
	}
	return fmt.Errorf("transfer: read the import: %w: a %s contains no records", ErrFormat, s.Format)
}

// reader adapts a function to io.Reader.
type reader func(b []byte) (int, error)

func (r reader) Read(b []byte) (int, error) { return r(b) }
