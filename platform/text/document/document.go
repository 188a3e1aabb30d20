// Package document converts files to structured text: title, author, date, and sections with
// headings and locations (page 3, sheet Budget). It detects the type by the content and reads text,
// Markdown, HTML, PDF, DOCX, XLSX, PPTX, EPUB, email, calendars, contact cards, tables and source
// code. It opens no files, uses no network and stores nothing.
//
// Every file is treated as hostile. Size, depth and counts are limited (Limits), a panic of a
// parser is reported as a broken file, and text that a reader would not see is omitted if the
// format marks it.
package document

import (
	"context"
	"errors"
	"fmt"
	"net/mail"
	"strings"
	"time"

	"hob/platform/text/readability"
)

// Reasons why a file cannot be read. They are wrapped with details.
var (
	ErrUnsupported = errors.New("unsupported file type")
	ErrBroken      = errors.New("the file is broken")
	ErrEncrypted   = errors.New("the file is password-protected; save a copy without a password")
	ErrNoText      = errors.New("the file contains no text")
	ErrTooLarge    = errors.New("the file is too large")
)

// Limits are the limits of parsing. Zero fields have default values.
type Limits struct {
	File     int64         // bytes of a file, or of a part of one (10 MB)
	Unpacked int64         // maximum decompressed bytes of an archive or a part (64 MB)
	Ratio    int64         // maximum ratio of decompressed to compressed size for a part of an archive (200)
	Entries  int           // maximum number of archive parts (100,000), table rows (20,000) or pages (5,000)
	Parts    int           // documents in one file, such as messages and attachments (5,000)
	Depth    int           // levels of attachments within attachments (3)
	Text     int           // maximum bytes of text per document (8 MB); the rest is cut and reported
	Time     time.Duration // time limit for one file (30 s)
	// Helper is the command that runs Serve in a separate process: this program with a hidden
	// command. If it is empty, PDFs are not read, and email is parsed in this process.
	Helper []string `json:"-"`
}

func (l Limits) withDefaults() Limits {
	l.File = positiveOr(l.File, 10<<20)
	l.Unpacked = positiveOr(l.Unpacked, 64<<20)
	l.Ratio = positiveOr(l.Ratio, 200)
	l.Entries = positiveOr(l.Entries, 20_000)
	l.Parts = positiveOr(l.Parts, 5_000)
	l.Depth = positiveOr(l.Depth, 3)
	l.Text = positiveOr(l.Text, 8<<20)
	l.Time = positiveOr(l.Time, 30*time.Second)
	return l
}

func positiveOr[T int | int64 | time.Duration](v, otherwise T) T {
	if v > 0 {
		return v
	}
	return otherwise
}

// File is a parsed file.
type File struct {
	Kind      string // "pdf", "docx", "mail" and so on
	Documents []Document
	// Skipped are parts that could not be read.
	Skipped []Skipped
}

// Skipped is a part that was not read, and the reason.
type Skipped struct {
	Name string
	Err  error
}

// Document is one text: a file, a message in a mailbox, or an attachment.
type Document struct {
	// Part identifies the document within its file; "" means the file itself. It does not change
	// when other parts are added or removed.
	Part     string
	Name     string // file name of an attachment
	Kind     string
	Title    string
	Author   string
	Language string
	At       time.Time // when it was written or sent; zero if unknown
	People   []Person  // people named in headers and on contact cards
	Sections []Section
	Cut      bool // only the beginning was read
}

// Person is a person in a header or on a contact card.
type Person struct {
	Name   string
	Mails  []string
	Phones []string
	Org    string
}

// Section is a part of a document under one heading.
type Section struct {
	Heading []string // headings, outermost first
	Place   string   // "page 3", "sheet Budget", "slide 4"; "" if there is none
	Text    string
	// Rows replace Text if the section is a table. Header must be repeated before each chunk of
	// rows.
	Header string
	Rows   []string
	Code   bool // Text is source code: its lines are unchanged
	// Quoted is true for text that a message quotes from another message.
	Quoted bool
}

// Parse parses a file. It uses the name if the content does not identify the type. Errors wrap one
// of this package's errors or are the error of ctx.
func Parse(ctx context.Context, name string, data []byte, limits Limits) (File, error) {
	limits = limits.withDefaults()
	ctx, cancel := context.WithTimeout(ctx, limits.Time)
	defer cancel()
	p := &parser{ctx: ctx, limits: limits, parts: limits.Parts}
	docs, err := p.parseFile(name, data, 0)
	if err != nil && ctx.Err() != nil && errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("%w: parsing took longer than %s", ErrBroken, limits.Time)
	}
	if err != nil {
		return File{}, err
	}
	makeNamesUnique(docs)
	f := File{Documents: docs, Skipped: p.skipped}
	if len(docs) > 0 {
		f.Kind = docs[0].Kind
	}
	return f, nil
}

// makeNamesUnique gives different names to parts that have the same name, such as messages without
// a Message-ID and files that are attached twice.
func makeNamesUnique(docs []Document) {
	seen := map[string]int{}
	for i := range docs {
		key := docs[i].Part
		if seen[key]++; seen[key] > 1 {
			docs[i].Part = fmt.Sprintf("%s~%d", key, seen[key])
		}
	}
}

// parser is the state of one call of Parse.
type parser struct {
	ctx     context.Context
	limits  Limits
	parts   int // number of documents that may still be read
	skipped []Skipped
}

// parseFile reads one file or part of one.
func (p *parser) parseFile(name string, data []byte, depth int) (docs []Document, err error) {
	if int64(len(data)) > p.limits.File {
		return nil, fmt.Errorf("%w: %d bytes; the limit is %d", ErrTooLarge, len(data), p.limits.File)
	}
	kind := Detect(name, data)
	defer func() {
		if r := recover(); r != nil { // a library may panic if the file is malformed
			docs, err = nil, fmt.Errorf("%w: %s: %.200v", ErrBroken, kind, r)
		}
	}()
	switch kind {
	case "mail", "mailbox":
		return p.readMails(kind, data, depth)
	}
	read, ok := p.formatReaders()[kind]
	if !ok {
		return nil, unsupportedError(kind)
	}
	d, err := read(name, data)
	if err != nil {
		return nil, err
	}
	d.Kind = kind
	p.truncateDocument(d)
	if !d.hasText() {
		if kind == "pdf" {
			return nil, fmt.Errorf("%w: the pages are images; add the text with an OCR program", ErrNoText)
		}
		return nil, ErrNoText
	}
	return []Document{*d}, nil
}

func (p *parser) formatReaders() map[string]func(string, []byte) (*Document, error) {
	return map[string]func(string, []byte) (*Document, error){
		"text": p.parseText, "markdown": p.parseMarkdown, "html": p.parseHTML, "pdf": p.parseInWorker, "docx": p.parseDOCX, "xlsx": p.parseXLSX, "pptx": p.parsePPTX, "epub": p.parseEPUB,
		"calendar": p.parseCalendar, "cards": p.parseCards, "csv": p.parseCSV, "json": p.parseJSON, "jsonl": p.parseJSONL, "code": p.parseCode,
	}
}

func unsupportedError(kind string) error {
	switch kind {
	case "empty":
		return ErrNoText
	case "image":
		return fmt.Errorf("%w: image", ErrUnsupported)
	case "old office":
		return fmt.Errorf("%w: old Office format or password-protected; save it as .docx, .xlsx or .pptx without a password", ErrUnsupported)
	case "archive":
		return fmt.Errorf("%w: archive; unpack it", ErrUnsupported)
	}
	return fmt.Errorf("%w: %s", ErrUnsupported, kind)
}

// truncateDocument cuts a document at its maximum length and drops empty sections.
func (p *parser) truncateDocument(d *Document) {
	left := p.limits.Text
	var kept []Section
	for _, s := range d.Sections {
		s.Text = dropControlRunes(s.Text)
		s.Header = readability.CutRunes(s.Header, 600)
		if s.textSize() > left {
			d.Cut = true
			s.truncateTo(left)
		}
		if s.Heading = cleanHeading(s.Heading); s.hasText() {
			kept = append(kept, s)
			left -= s.textSize()
		}
	}
	d.Sections = kept
	d.Title, d.Author, d.Language = singleLine(d.Title, 300), singleLine(d.Author, 200), singleLine(d.Language, 35)
}

func (s *Section) textSize() int {
	n := len(s.Text)
	for _, r := range s.Rows {
		n += len(r)
	}
	return n
}

func (s *Section) truncateTo(n int) {
	if len(s.Text) > n {
		s.Text = strings.ToValidUTF8(s.Text[:n], "")
	}
	for i, r := range s.Rows {
		if n -= len(r); n < 0 {
			s.Rows = s.Rows[:i]
			return
		}
	}
}

func (s *Section) hasText() bool { return strings.TrimSpace(s.Text) != "" || len(s.Rows) > 0 }

func (d *Document) hasText() bool { return len(d.Sections) > 0 }

func cleanHeading(heading []string) []string {
	var out []string
	for _, h := range heading {
		if h = singleLine(h, 120); h != "" {
			out = append(out, h)
		}
	}
	return out
}

// singleLine returns s as one line of at most n characters.
func singleLine(s string, n int) string {
	return readability.CutRunes(strings.Join(strings.Fields(dropControlRunes(s)), " "), n)
}

// dropControlRunes removes control characters, which are not text.
func dropControlRunes(s string) string {
	s = strings.ToValidUTF8(strings.ReplaceAll(s, "\r\n", "\n"), "\uFFFD")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return r
		case r == '\r', r == '\f', r == '\v', r == '\u0085', r == '\u2028', r == '\u2029':
			return '\n'
		case r < ' ', r >= 0x7f && r < 0xa0, r == 0xad, r == 0xfeff, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r >= 0xe0000 && r <= 0xe007f:
			return -1 // also drops invisible bidi marks and tags
		}
		return r
	}, s)
}

// parseDocumentDate parses the date formats that documents use.
func parseDocumentDate(s string) time.Time {
	s = strings.TrimSpace(s)
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02", "2006/01/02", "2006-01", "2006"} {
		if t, err := time.Parse(layout, s); err == nil {
			return plausibleTime(t)
		}
	}
	if t, err := mail.ParseDate(s); err == nil {
		return plausibleTime(t)
	}
	return time.Time{}
}

// plausibleTime returns the zero time for times outside the plausible range.
func plausibleTime(t time.Time) time.Time {
	if t.Year() < 1000 || t.Year() > 2200 {
		return time.Time{}
	}
	return t
}
