package document

import (
	"strconv"
	"strings"
	"time"

	"hob/platform/text/readability"
)

// workbook is an open Excel workbook (ECMA-376 part 1, 18).
type workbook struct {
	*archive
	shared []string
	dates  []bool // whether a cell format is a date, by the index of the format
	y1904  bool
	left   int // remaining bytes of text
}

// maxCell is the maximum number of characters in a cell, as in Excel. maxShared is the maximum
// number of shared texts.
const (
	maxCell   = 32_767
	maxShared = 2_000_000
)

// parseXLSX reads the sheets row by row. The first row that contains words is the header. For
// formulas, it returns the value that was last computed.
func (p *parser) parseXLSX(_ string, data []byte) (*Document, error) {
	b, err := p.openArchive(data)
	if err != nil {
		return nil, err
	}
	d := &Document{}
	b.readCoreProperties(d)
	k := &workbook{archive: b, left: p.limits.Text}
	type sheet struct{ name, id string }
	var sheets []sheet
	err = b.walkXML("xl/workbook.xml", func(e *element) {
		switch {
		case e.Start && e.Name == "sheet":
			sheets = append(sheets, sheet{e.Get("name"), e.Get("id")})
		case e.Start && e.Name == "workbookPr":
			k.y1904 = e.Get("date1904") == "1" || e.Get("date1904") == "true"
		}
	})
	if err != nil {
		return nil, err
	}
	parts, _, err := b.readRelations("xl/workbook.xml")
	if err != nil {
		return nil, err
	}
	if err := k.readSharedStrings(); err != nil {
		return nil, err
	}
	if err := k.readDateFormats(); err != nil {
		return nil, err
	}
	for _, s := range sheets {
		t, cut, err := k.readSheet(parts[s.id])
		if err != nil {
			return nil, err
		}
		d.Cut = d.Cut || cut
		d.Sections = append(d.Sections, t.toSections("sheet "+singleLine(s.name, 60), nil)...)
	}
	return d, nil
}

// readSharedStrings reads the shared strings without their phonetic text (rPh, used for Japanese).
func (k *workbook) readSharedStrings() error {
	if k.files["xl/sharedStrings.xml"] == nil {
		return nil
	}
	var b strings.Builder
	return k.walkXML("xl/sharedStrings.xml", func(e *element) {
		switch {
		case e.Name == "t" && e.Text != "" && !e.In("rPh"):
			if b.Len() <= 4*maxCell {
				b.WriteString(e.Text)
			}
		case e.End && e.Name == "si" && len(k.shared) < maxShared:
			k.shared = append(k.shared, readability.CutRunes(b.String(), maxCell))
			b.Reset()
		}
	})
}

// readDateFormats determines which cell formats are dates (18.8.30).
func (k *workbook) readDateFormats() error {
	if k.files["xl/styles.xml"] == nil {
		return nil
	}
	own := map[string]bool{}
	return k.walkXML("xl/styles.xml", func(e *element) {
		switch {
		case !e.Start:
		case e.Name == "numFmt":
			own[e.Get("numFmtId")] = isDateFormat(e.Get("formatCode"))
		case e.Name == "xf" && e.In("cellXfs"):
			id := e.Get("numFmtId")
			n, _ := strconv.Atoi(id)
			k.dates = append(k.dates, own[id] || n >= 14 && n <= 22 || n >= 45 && n <= 47)
		}
	})
}

func isDateFormat(code string) bool {
	plain := strings.Builder{}
	quoted := false
	for i := 0; i < len(code); i++ {
		switch c := code[i]; {
		case c == '"':
			quoted = !quoted
		case c == '\\':
			i++
		case c == '[':
			if j := strings.IndexByte(code[i:], ']'); j > 0 {
				i += j
			}
		case !quoted:
			plain.WriteByte(c)
		}
	}
	return strings.ContainsAny(strings.ToLower(plain.String()), "ymdhs") && !strings.Contains(strings.ToLower(plain.String()), "general")
}

// readSheet reads a sheet.
func (k *workbook) readSheet(part string) (t table, cut bool, err error) {
	var cells []string
	var value strings.Builder
	var kind string
	var style, at, width int
	err = k.walkXML(part, func(e *element) {
		switch {
		case cut:
		case e.Start && e.Name == "row":
			cells, width = nil, 0
		case e.Start && e.Name == "c":
			kind = e.Get("t")
			style, _ = strconv.Atoi(e.Get("s"))
			at = columnIndex(e.Get("r"), len(cells))
			value.Reset()
		case e.Text != "" && (e.Name == "v" || e.Name == "t" && e.In("is")):
			if value.Len() <= 4*maxCell {
				value.WriteString(e.Text)
			}
		case e.End && e.Name == "c":
			for len(cells) <= at {
				cells = append(cells, "")
			}
			text := readability.CutRunes(k.cellValue(kind, style, value.String()), maxCell)
			if width += len(text); width <= k.left {
				cells[at] = text
			}
		case e.End && e.Name == "row":
			cut = len(t.rows) >= k.p.limits.Entries || width >= k.left
			k.left -= t.addRow(cells)
		}
	})
	return t, cut, err
}

// maxColumns is the maximum number of columns that are read; Excel has 16,384.
const maxColumns = 512

// columnIndex returns the column index of a cell reference such as "C7", from 0.
func columnIndex(ref string, next int) int {
	n := 0
	for _, r := range ref {
		if r < 'A' || r > 'Z' {
			break
		}
		if n = n*26 + int(r-'A') + 1; n > maxColumns {
			return maxColumns - 1
		}
	}
	if n == 0 {
		return min(next, maxColumns-1)
	}
	return n - 1
}

func (k *workbook) cellValue(kind string, style int, v string) string {
	switch kind {
	case "s":
		if i, err := strconv.Atoi(v); err == nil && i >= 0 && i < len(k.shared) {
			return k.shared[i]
		}
		return ""
	case "b":
		return map[string]string{"1": "TRUE", "0": "FALSE"}[v]
	case "", "n":
		if style >= 0 && style < len(k.dates) && k.dates[style] {
			return k.formatSerialDate(v)
		}
		if f, err := strconv.ParseFloat(v, 64); err == nil { // the file may contain 0.1 as 0.10000000000000001
			return strconv.FormatFloat(f, 'f', -1, 64)
		}
	}
	return v
}

// formatSerialDate converts a serial day number to a date (18.17.4.1).
func (k *workbook) formatSerialDate(v string) string {
	f, err := strconv.ParseFloat(v, 64)
	if err != nil || f < 0 || f > 2_958_465 {
		return v
	}
	epoch := time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)
	if k.y1904 {
		epoch = time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	days := int(f)
	t := epoch.AddDate(0, 0, days).Add(time.Duration((f - float64(days)) * 86400 * float64(time.Second))).Round(time.Second)
	switch {
	case days == 0:
		return t.Format("15:04")
	case t.Hour() == 0 && t.Minute() == 0 && t.Second() == 0:
		return t.Format("2006-01-02")
	}
	return t.Format("2006-01-02 15:04")
}
