package markup

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// This file implements GitHub's extensions of Markdown (https://github.github.com/gfm/). The
// parser's own package for them is not used, because it compiles patterns at each start of the
// program, for link features that are not needed here.

// struckOut parses ~~struck out~~ text. A single tilde is ordinary text: "~5" means about five.
type struckOut struct{}

func (struckOut) Trigger() []byte { return []byte{'~'} }

func (s struckOut) Parse(_ ast.Node, block text.Reader, pc parser.Context) ast.Node {
	before := block.PrecendingCharacter()
	line, at := block.PeekLine()
	d := parser.ScanDelimiter(line, before, 2, s)
	if d == nil || d.OriginalLength != 2 || before == '~' {
		return nil
	}
	d.Segment = at.WithStop(at.Start + d.OriginalLength)
	block.Advance(d.OriginalLength)
	pc.PushDelimiter(d)
	return d
}

func (struckOut) IsDelimiter(b byte) bool                        { return b == '~' }
func (struckOut) CanOpenCloser(open, end *parser.Delimiter) bool { return open.Char == end.Char }
func (struckOut) OnMatch(int) ast.Node                           { return east.NewStrikethrough() }

// boxes parses the checkbox [ ] or [x] at the beginning of a list item.
type boxes struct{}

func (boxes) Trigger() []byte { return []byte{'['} }

func (boxes) Parse(parent ast.Node, block text.Reader, _ parser.Context) ast.Node {
	if parent.HasChildren() || parent.Parent() == nil || parent.Parent().Kind() != ast.KindListItem || parent.Parent().FirstChild() != parent {
		return nil
	}
	line, _ := block.PeekLine()
	if len(line) < 4 || line[0] != '[' || line[2] != ']' || line[3] != ' ' && line[3] != '\t' {
		return nil
	}
	switch line[1] {
	case ' ', 'x', 'X':
		block.Advance(4)
		return east.NewTaskCheckBox(line[1] != ' ')
	}
	return nil
}

// tables converts paragraphs whose second line consists of dashes to tables. Lines before the table
// header remain a paragraph.
type tables struct{}

func (tables) Transform(p *ast.Paragraph, reader text.Reader, _ parser.Context) {
	src, lines := reader.Source(), p.Lines()
	for i := 1; i < lines.Len(); i++ {
		how := parseAlignments(src, lines.At(i))
		if how == nil {
			continue
		}
		head := splitCells(src, lines.At(i-1))
		if len(head) != len(how) {
			continue
		}
		t := east.NewTable()
		t.Alignments = how
		t.AppendChild(t, east.NewTableHeader(newTableRow(head, len(how))))
		for j := i + 1; j < lines.Len(); j++ {
			t.AppendChild(t, newTableRow(splitCells(src, lines.At(j)), len(how)))
		}
		p.Parent().InsertAfter(p.Parent(), p, t)
		if lines.SetSliced(0, i-1); lines.Len() == 0 {
			p.Parent().RemoveChild(p.Parent(), p)
			return
		}
		last := lines.At(lines.Len() - 1)
		lines.Set(lines.Len()-1, last.TrimRightSpace(src))
		return
	}
}

// parseAlignments parses the line of dashes below a table header. It returns nil if the line has
// another form.
func parseAlignments(src []byte, line text.Segment) (out []east.Alignment) {
	if bytes.IndexByte(line.Value(src), '|') < 0 {
		return nil // without a vertical bar, it is the underline of a heading or a thematic break
	}
	for _, c := range splitCells(src, line) {
		s := c.Value(src)
		left, right := bytes.HasPrefix(s, []byte(":")), bytes.HasSuffix(s, []byte(":"))
		if s = bytes.TrimSuffix(bytes.TrimPrefix(s, []byte(":")), []byte(":")); len(s) == 0 || len(bytes.Trim(s, "-")) > 0 {
			return nil
		}
		switch {
		case left && right:
			out = append(out, east.AlignCenter)
		case right:
			out = append(out, east.AlignRight)
		case left:
			out = append(out, east.AlignLeft)
		default:
			out = append(out, east.AlignNone)
		}
	}
	return out
}

// splitCells splits a line at its vertical bars, but not at \|.
func splitCells(src []byte, line text.Segment) (out []text.Segment) {
	line = line.TrimLeftSpace(src)
	line = line.TrimRightSpace(src)
	start, stop := line.Start, line.Stop
	if start < stop && src[start] == '|' {
		start++
	}
	escaped := false
	for i := start; i < stop; i++ {
		switch {
		case escaped:
			escaped = false
		case src[i] == '\\':
			escaped = true
		case src[i] == '|':
			out = append(out, trimCell(src, start, i))
			start = i + 1
		}
	}
	if start < stop || len(out) == 0 {
		out = append(out, trimCell(src, start, stop))
	}
	return out
}

func trimCell(src []byte, start, stop int) text.Segment {
	s := text.NewSegment(start, stop)
	s = s.TrimLeftSpace(src)
	return s.TrimRightSpace(src)
}

// newTableRow returns a row of at most n cells. It does not add missing cells, because a header
// with many columns and many rows would then produce a huge table.
func newTableRow(of []text.Segment, n int) *east.TableRow {
	r := east.NewTableRow(nil)
	for _, at := range of[:min(len(of), n)] {
		c := east.NewTableCell()
		if at.Len() > 0 {
			c.Lines().Append(at)
		}
		r.AppendChild(r, c)
	}
	return r
}
