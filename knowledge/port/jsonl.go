package port

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

// lines writes JSON Lines: a header, one record per line, and the seal.
type lines struct {
	s *sealer
	n int
}

// NewJSONL starts a JSON Lines file that is sealed with key.
func NewJSONL(w io.Writer, key []byte, at time.Time) (Writer, error) {
	l := &lines{s: newSealer(w, key)}
	return l, line(l.s, head{Hob: "memory", Version: Version, At: at.UTC()})
}

func line(w io.Writer, v any) error {
	b, err := compact(v)
	if err == nil {
		_, err = w.Write(append(b, '\n'))
	}
	if err != nil {
		return fmt.Errorf("port: write: %w", err)
	}
	return nil
}

// compact encodes JSON on one line, without HTML escapes.
func compact(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}

func (l *lines) Write(r Record) error {
	l.n++
	return line(l.s, r)
}

func (l *lines) Close() error {
	sum := l.s.sum()
	return line(l.s, struct {
		End end `json:"end"`
	}{end{l.n, sum}})
}

// readJSONL reads the records of a file. It reports invalid lines to skip.
func readJSONL(r io.Reader, t take) error {
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
		if err := decode(b, &rec); err != nil {
			t.skip(fmt.Sprintf("line %d", n), err)
			continue
		}
		if err := t.record(fmt.Sprintf("line %d", n), rec); err != nil {
			return err
		}
	}
	return scanned(in)
}

func readHead(b []byte) error {
	var h head
	if err := json.Unmarshal(b, &h); err != nil || h.Hob != "memory" {
		return fmt.Errorf("%w: the file does not start like a Hob export", ErrFormat)
	}
	if h.Version > Version || h.Version < 1 {
		return ErrNewer
	}
	return nil
}

// decode decodes exactly one JSON value.
func decode(b []byte, v any) error {
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

func scanned(in *bufio.Scanner) error {
	err := in.Err()
	if errors.Is(err, bufio.ErrTooLong) {
		err = ErrTooLong
	}
	if err != nil {
		return fmt.Errorf("port: read: %w", err)
	}
	return nil
}

// take receives the records and the skipped parts.
type take struct {
	each func(Record) error
	skip func(where string, err error)
}

// record passes on a valid record and skips an invalid one.
func (t take) record(where string, r Record) error {
	if r.Kind() == "" {
		t.skip(where, errors.New("unknown record type"))
		return nil
	}
	return t.each(r)
}
