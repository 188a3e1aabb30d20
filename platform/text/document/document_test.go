package document

import (
	"archive/zip"
	"bytes"
	"compress/zlib"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestGolden parses files created by other programs.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/golden/*")
	if err != nil || len(files) == 0 {
		t.Fatal(err, files)
	}
	for _, file := range files {
		if strings.HasSuffix(file, ".want") {
			continue
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			f, err := Parse(t.Context(), file, data, withHelper(t, Limits{}))
			if err != nil {
				t.Fatal(err)
			}
			got := formatFile(f)
			if flag.Lookup("update").Value.String() == "true" {
				if err := os.WriteFile(file+".want", []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file + ".want")
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("parsed as\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == Helper {
		os.Exit(Serve(os.Stdin, os.Stdout)) // os.Exit also reports data races
	}
	flag.Bool("update", false, "write the golden files")
	flag.Parse()
	os.Exit(m.Run())
}

// withHelper uses this test binary as the PDF worker; see TestMain.
func withHelper(t testing.TB, l Limits) Limits {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	l.Helper = []string{exe, Helper}
	return l
}

// pdfWithObjects returns a PDF whose cross-reference table claims the given number of objects.
func pdfWithObjects(size string) []byte {
	head := "%PDF-1.5\n"
	xref := "1 0 obj<</Type/XRef/Size " + size + "/W[1 2 1]/Root 1 0 R/Length 0>>stream\n\nendstream\nendobj\n" + strings.Repeat("%\n", 40)
	return []byte(head + xref + fmt.Sprintf("startxref\n%d\n%%%%EOF\n", len(head)))
}

// formatFile formats a parsed file as plain lines.
func formatFile(f File) string {
	var b strings.Builder
	for _, d := range f.Documents {
		fmt.Fprintf(&b, "== %s %q part=%q author=%q language=%q", d.Kind, d.Title, d.Part, d.Author, d.Language)
		if !d.At.IsZero() {
			fmt.Fprintf(&b, " at=%s", d.At.UTC().Format(time.RFC3339))
		}
		b.WriteString("\n")
		for _, p := range d.People {
			fmt.Fprintf(&b, "person %q %v %v %q\n", p.Name, p.Mails, p.Phones, p.Org)
		}
		for _, s := range d.Sections {
			fmt.Fprintf(&b, "-- %q %q quoted=%v\n%s", s.Heading, s.Place, s.Quoted, strings.TrimRight(s.Text, "\n"))
			if s.Text != "" {
				b.WriteString("\n")
			}
			for i, r := range s.Rows {
				if i == 0 {
					fmt.Fprintf(&b, "header: %s\n", s.Header)
				}
				fmt.Fprintf(&b, "row: %s\n", r)
			}
		}
	}
	for _, s := range f.Skipped {
		fmt.Fprintf(&b, "skipped %s: %v\n", s.Name, s.Err)
	}
	return b.String()
}

func createZip(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range files {
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestHostile checks that malicious files are rejected with the cause.
func TestHostile(t *testing.T) {
	word := func(body string) []byte {
		return createZip(t, map[string]string{"[Content_Types].xml": "<Types/>", "word/document.xml": body})
	}
	var z bytes.Buffer
	w := zlib.NewWriter(&z)
	for range 100 {
		_, _ = w.Write(make([]byte, 1<<20))
	}
	_ = w.Close()
	many := map[string]string{"[Content_Types].xml": "<Types/>", "word/document.xml": "<a/>"}
	for i := range 30 {
		many[fmt.Sprint(i)] = ""
	}
	nested := "From: a@example.org\nTo: b@example.org\nDate: Mon, 02 Mar 2026 10:00:00 +0000\nMIME-Version: 1.0\nContent-Type: message/rfc822\nContent-Disposition: attachment; filename=a.eml\n\n"
	tests := []struct {
		name, file string
		data       []byte
		limits     Limits
		want       error
	}{
		{"too large", "a.txt", make([]byte, 2000), Limits{File: 1000}, ErrTooLarge},
		{"nothing", "a.txt", nil, Limits{}, ErrNoText},
		{"binary", "a.txt", []byte("\x01\x02\x03\x00\x04\x05text"), Limits{}, ErrUnsupported},
		{"picture", "a.txt", []byte("\x89PNG\r\n\x1a\n"), Limits{}, ErrUnsupported},
		{"old Office", "a.docx", []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1and more"), Limits{}, ErrUnsupported},
		{"an archive", "a.zip", createZip(t, map[string]string{"a": "b"}), Limits{}, ErrUnsupported},
		{"torn archive", "a.docx", word("<a/>")[:40], Limits{}, ErrUnsupported},
		{"zip bomb by ratio", "a.docx", word(strings.Repeat(" ", 20<<20)), Limits{}, ErrTooLarge},
		{"zip bomb by size", "a.docx", word("<a>" + strings.Repeat("word ", 1<<20) + "</a>"), Limits{Unpacked: 1 << 20, Ratio: 1 << 20}, ErrTooLarge},
		{"too many parts", "a.docx", createZip(t, many), Limits{Entries: 20}, ErrTooLarge},
		{"deep XML", "a.docx", word(strings.Repeat("<a>", 1000)), Limits{}, ErrBroken},
		{"billion laughs", "a.docx", word(`<!DOCTYPE a [<!ENTITY x "lol"><!ENTITY y "&x;&x;">]><a>&y;</a>`), Limits{}, ErrBroken},
		{"missing part", "a.docx", createZip(t, map[string]string{"[Content_Types].xml": "<Types/>", "word/document.xml": ""}), Limits{}, ErrNoText},
		{"torn PDF", "a.pdf", []byte("%PDF-1.4\nnothing"), Limits{}, ErrBroken},
		{"PDF bomb", "a.pdf", append([]byte("%PDF-1.4\n1 0 obj<</Length 9>>stream\n"), z.Bytes()...), Limits{}, ErrTooLarge},
		{"PDF that declares objects larger than the memory", "a.pdf", pdfWithObjects("8000000000"), Limits{}, ErrBroken},
		{"PDF that declares large objects", "a.pdf", pdfWithObjects("40000000"), Limits{}, ErrBroken},
		{"locked PDF", "a.pdf", []byte("%PDF-1.4\n/Encrypt 1 0 R\nstartxref\n0\n%%EOF"), Limits{}, ErrEncrypted},
		{"nested mails", "a.eml", []byte(strings.Repeat(nested, 8) + "end"), Limits{}, nil},
		{"deep JSON", "a.json", []byte(strings.Repeat("[", 20000)), Limits{}, ErrBroken},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse(t.Context(), tt.file, tt.data, withHelper(t, tt.limits))
			if !errors.Is(err, tt.want) {
				t.Errorf("%v, want %v", err, tt.want)
			}
		})
	}
}

// FuzzParse checks that the parser stays within its limits for any input.
func FuzzParse(f *testing.F) {
	files, _ := filepath.Glob("testdata/golden/*")
	for _, file := range files {
		if data, err := os.ReadFile(file); err == nil && !strings.HasSuffix(file, ".want") {
			f.Add(filepath.Base(file), data)
		}
	}
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		limits := withHelper(t, Limits{Text: 1 << 20, Unpacked: 4 << 20, Time: 20 * time.Second})
		got, err := Parse(t.Context(), name, data, limits)
		if err != nil {
			if errors.Is(err, ErrBroken) || errors.Is(err, ErrUnsupported) || errors.Is(err, ErrEncrypted) || errors.Is(err, ErrNoText) || errors.Is(err, ErrTooLarge) {
				return
			}
			t.Fatalf("the error has no details: %v", err)
		}
		if len(got.Documents) == 0 {
			t.Fatal("neither a document nor an error")
		}
		for _, d := range got.Documents {
			n := 0
			for _, s := range d.Sections {
				n += s.textSize()
			}
			if n > limits.Text+len(d.Sections)*4 {
				t.Fatalf("%d bytes of text", n)
			}
		}
	})
}
