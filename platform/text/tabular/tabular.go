// Package tabular reads tables that other programs export: CSV with any usual separator and
// encoding, and columns of dates in which the order of day and month must be found out. Callers give
// the columns a meaning.
package tabular

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/htmlindex"

	"hob/platform/text/document"
)

// Limits of a table.
const (
	MaxRows    = 50_000
	maxColumns = 100
)

// Reasons why a file cannot be read. They are wrapped with details.
var (
	ErrBinary   = errors.New("the file is not text")
	ErrEncoding = errors.New("unknown encoding")
	ErrBroken   = errors.New("the table is broken")
	ErrTooLong  = fmt.Errorf("the table has more than %d rows or %d columns", MaxRows, maxColumns)
)

// Decode converts a file to UTF-8. encoding is a name such as "windows-1257". If it is empty, UTF-8
// and UTF-16 are detected, and other text is read as Windows-1252; guessed is then true.
func Decode(data []byte, encoding string) (text string, guessed bool, err error) {
	if encoding != "" {
		enc, err := htmlindex.Get(encoding)
		if err != nil {
			return "", false, fmt.Errorf("%w %q", ErrEncoding, encoding)
		}
		out, err := enc.NewDecoder().Bytes(data)
		if err != nil {
			return "", false, fmt.Errorf("%w: %w", ErrEncoding, err)
		}
		return strings.TrimPrefix(string(out), "\ufeff"), false, nil
	}
	wide := hasUTF16Mark(data)
	if !wide { // otherwise the last letter of a file could pass for half of a UTF-8 one
		data = append(data[:len(data):len(data)], '\n')
	}
	text, ok := document.DecodeText(data)
	if !ok {
		return "", false, ErrBinary
	}
	if !wide {
		text = strings.TrimSuffix(text, "\n")
	}
	for _, r := range text {
		if r >= 0x80 {
			guessed = !wide && !utf8.Valid(data)
			break
		}
	}
	return strings.TrimPrefix(text, "\ufeff"), guessed, nil
}

func hasUTF16Mark(data []byte) bool {
	return len(data) > 1 && (data[0] == 0xff && data[1] == 0xfe || data[0] == 0xfe && data[1] == 0xff || data[0] == 0 || data[1] == 0)
}

// Row is a row with the number of the line on which it starts.
type Row struct {
	Line  int
	Cells []string // without surrounding spaces
}

// ReadRows splits a text into rows. It skips empty rows. The rows may have different lengths, because
// many exports begin with lines about the account.
func ReadRows(text string) ([]Row, error) {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	offset := 0
	if first, rest, ok := strings.Cut(text, "\n"); ok && strings.HasPrefix(strings.ToLower(first), "sep=") { // written by Excel
		text, offset = rest, 1
	}
	r := csv.NewReader(strings.NewReader(text))
	r.Comma = detectSeparator(text)
	r.LazyQuotes, r.FieldsPerRecord = true, -1
	var out []Row
	for {
		cells, err := r.Read()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrBroken, err)
		}
		empty := true
		for i, c := range cells {
			cells[i] = strings.TrimSpace(strings.ReplaceAll(c, "\u00a0", " "))
			empty = empty && cells[i] == ""
		}
		if empty {
			continue
		}
		if len(out) >= MaxRows || len(cells) > maxColumns {
			return nil, ErrTooLong
		}
		line, _ := r.FieldPos(0)
		out = append(out, Row{line + offset, cells})
	}
}

// detectSeparator returns the character that splits most of the first lines into the same number of
// cells. Of two equal ones it prefers the one that is no decimal separator.
func detectSeparator(text string) rune {
	best, most := ',', 0
	for _, c := range []rune{';', '\t', '|', ','} {
		counts := map[int]int{}
		n := 0
		for line := range strings.Lines(text[:min(len(text), 32<<10)]) {
			if k := countOutsideQuotes(line, c); k > 0 {
				counts[k]++
			}
			if n++; n == 60 {
				break
			}
		}
		for _, lines := range counts {
			if lines > most {
				best, most = c, lines
			}
		}
	}
	return best
}

func countOutsideQuotes(line string, c rune) (n int) {
	quoted := false
	for _, r := range line {
		switch {
		case r == '"':
			quoted = !quoted
		case r == c && !quoted:
			n++
		}
	}
	return n
}
