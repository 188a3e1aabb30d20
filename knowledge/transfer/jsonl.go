package transfer

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// Writer writes records to a file.
type Writer interface {
	Write(r Record) error
	// Close writes the seal. It does not close the underlying writer.
	Close() error
}

// jsonlWriter writes JSON Lines: a header, one record per line, and the seal.
type jsonlWriter struct {
	s *sealer
	n int
}

// NewJSONL starts a JSON Lines file that is sealed with key.
func NewJSONL(w io.Writer, key []byte, at time.Time) (Writer, error) {
	l := &jsonlWriter{s: newSealer(w, key)}
	return l, writeLine(l.s, exportHeader{Hob: "memory", Version: Version, At: at.UTC()})
}

func writeLine(w io.Writer, v any) error {
	b, err := compactJSON(v)
	if err == nil {
		_, err = w.Write(append(b, '\n'))
	}
	if err != nil {
		return fmt.Errorf("transfer: write export: %w", err)
	}
	return nil
}

// compactJSON encodes JSON on one line, without HTML escapes.
func compactJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}

func (l *jsonlWriter) Write(r Record) error {
	l.n++
	return writeLine(l.s, r)
}

func (l *jsonlWriter) Close() error {
	sum := l.s.hexSum()
	return writeLine(l.s, struct {
		End exportTrailer `json:"end"`
	}{exportTrailer{l.n, sum}})
}

// readJSONL reads the records of a file. It reports the invalid lines, which are skipped.
func readJSONL(r io.Reader, t recordFunc) error {
	in := newScanner(r)
	first := true
	for n := 1; in.Scan(); n++ {
		b := bytes.TrimSpace(in.Bytes())
		switch {
		case len(b) == 0:
			continue
		case first:
			first = false
			if err := readHead(b); err != nil {
				return err
			}
			continue
		case bytes.HasPrefix(b, []byte(`{"end":`)):
			continue
		}
		var rec Record
		if err := decodeStrict(b, &rec); err != nil {
			t.skip(fmt.Sprintf("line %d", n), err)
			continue
		}
		if err := t.emitRecord(fmt.Sprintf("line %d", n), rec); err != nil {
			return err
		}
	}
	return scanError(in)
}

func readHead(b []byte) error {
	var h exportHeader
	if err := json.Unmarshal(b, &h); err != nil || h.Hob != "memory" {
		return fmt.Errorf("%w: the file does not start with the header of a Hob export", ErrFormat)
	}
	if h.Version > Version || h.Version < 1 {
		return ErrNewer
	}
	return nil
}

// decodeStrict decodes exactly one JSON value.
func decodeStrict(b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("unexpected data after the record")
	}
	return nil
}

func newScanner(r io.Reader) *bufio.Scanner {
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, 64<<10), maxRecord)
	return in
}

func scanError(in *bufio.Scanner) error {
	err := in.Err()
	if errors.Is(err, bufio.ErrTooLong) {
		err = ErrTooLong
	}
	if err != nil {
		return fmt.Errorf("transfer: read file: %w", err)
	}
	return nil
}

// recordFunc receives the records and the skipped parts.
type recordFunc struct {
	each func(Record) error
	skip func(where string, err error)
}

// emitRecord emits a valid record and skips an invalid one.
func (t recordFunc) emitRecord(where string, r Record) error {
	if r.Kind() == "" {
		t.skip(where, errors.New("unknown record type"))
		return nil
	}
	return t.each(r)
}
