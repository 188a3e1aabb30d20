package document

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"golang.org/x/net/html/charset"

	"hob/platform/text/readability"
)

func newBrokenError(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrBroken, fmt.Errorf(format, args...))
}

// decodeHTML converts a page to UTF-8 from the encoding that the page declares.
func decodeHTML(b []byte) string {
	enc, name, certain := charset.DetermineEncoding(b[:min(len(b), 1024)], "")
	if name != "utf-8" && certain {
		if out, err := enc.NewDecoder().Bytes(b); err == nil {
			return dropControlRunes(string(out))
		}
	}
	s, ok := DecodeText(b)
	if !ok {
		s = string(b)
	}
	return dropControlRunes(s)
}

// parseCSV parses a table. It chooses the separator with which the first lines have the same number
// of fields.
func (p *parser) parseCSV(_ string, data []byte) (*Document, error) {
	s, err := decodeOrError(data)
	if err != nil {
		return nil, err
	}
	r := csv.NewReader(strings.NewReader(s))
	r.Comma, r.FieldsPerRecord, r.LazyQuotes, r.ReuseRecord = detectSeparator(s), -1, true, true
	d := &Document{}
	t := &table{}
	for left := p.limits.Text; ; {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, newBrokenError("%w", err)
		}
		if len(t.rows) >= p.limits.Entries || left <= 0 {
			d.Cut = true
			break
		}
		if len(row) > maxColumns {
			row, d.Cut = row[:maxColumns], true
		}
		for i, c := range row {
			row[i] = readability.CutRunes(c, maxCell)
		}
		left -= t.addRow(row)
	}
	d.Sections = t.toSections("", nil)
	return d, p.ctx.Err()
}

func detectSeparator(s string) rune {
	best, most := ',', 0
	for _, c := range []rune{',', ';', '\t', '|'} {
		n, least := 0, -1
		for l := range strings.Lines(s[:min(len(s), 8192)]) {
			if k := strings.Count(l, string(c)); strings.TrimSpace(l) != "" && (least < 0 || k < least) {
				least = k
			}
			if n++; n == 5 {
				break
			}
		}
		if least > most {
			best, most = c, least
		}
	}
	return best
}

// table collects rows. The first row that contains words is its header.
type table struct {
	header string
	rows   []string
}

// addRow adds a row and returns its size in bytes.
func (t *table) addRow(cells []string) int {
	l := joinCells(cells)
	switch {
	case l == "":
	case t.header == "" && len(t.rows) == 0 && !slices.ContainsFunc(cells, isNumeric):
		t.header = l
	default:
		t.rows = append(t.rows, l)
	}
	return len(l)
}

// joinCells writes cells on one line.
func joinCells(cells []string) string {
	out := make([]string, len(cells))
	last := -1
	for i, c := range cells {
		if out[i] = strings.Join(strings.Fields(c), " "); out[i] != "" {
			last = i
		}
	}
	return strings.Join(out[:last+1], " | ")
}

func isNumeric(s string) bool {
	s = strings.TrimSpace(s)
	return s != "" && strings.Trim(s, "0123456789.,-+%€$£ ") == ""
}

func (t *table) toSections(place string, heading []string) []Section {
	if t.header == "" && len(t.rows) == 0 {
		return nil
	}
	if len(t.rows) == 0 {
		return []Section{{Place: place, Heading: heading, Text: t.header}}
	}
	return []Section{{Place: place, Heading: heading, Header: t.header, Rows: t.rows}}
}
