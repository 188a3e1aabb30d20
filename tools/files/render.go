package files

import (
	"encoding/csv"
	"errors"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"hob/platform/text/lazyregexp"
)

// Files that Hob writes to the drop folder without approval are rendered: the text of a document or
// the cells of a table are encoded again, so that a program that opens, indexes or reads the file
// finds no content to download, calculate or follow.

// Limits of rendering. Larger content needs approval.
const (
	maxRendered = 1 << 20 // bytes of the original content
	maxCells    = 500_000
)

// rendered is the first line of every rendered text, so that the file never starts with the
// content. Programs look for front matter or "#!" at the start of a file.
const rendered = "Saved by Hob. The conversation contained untrusted text, so links, pictures and formulas are saved as plain text."

// renderedExt returns the extension of the rendered file for a requested extension, or "" if files
// with this extension are not rendered.
func renderedExt(ext string) string {
	switch strings.ToLower(ext) {
	case ".txt", ".log", ".json":
		return ".txt"
	case ".md":
		return ".md"
	case ".csv", ".tsv":
		return ".csv"
	}
	return ""
}

// renderFile renders content for a file with the requested extension. ok is false if the content is
// not text or is too large.
func renderFile(ext, content string) (out string, ok bool) {
	if len(content) > maxRendered || !utf8.ValidString(content) || strings.ContainsRune(content, 0) {
		return "", false
	}
	switch renderedExt(ext) {
	case ".txt":
		return rendered + "\n\n" + renderText(content), true
	case ".md":
		return rendered + "\n\n" + renderMarkdown(content), true
	case ".csv":
		return renderTable(strings.ToLower(ext), content)
	}
	return "", false
}

// lineEnds normalizes line ends.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029", "\n", "\u0085", "\n", "\v", "\n", "\f", "\n")

// visibleText removes invisible characters and characters that change the writing direction.
func visibleText(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs, unicode.Variation_Selector), r == unicode.ReplacementChar:
			return -1
		case unicode.Is(unicode.Zs, r):
			return ' '
		}
		return r
	}, lineEnds.Replace(s))
}

var (
	// addressScheme matches the start of an address that viewers convert to a link.
	addressScheme = lazyregexp.New(`:(\s*)(//|\\\\)`)
	// bareScheme matches the start of an address without slashes.
	bareScheme = lazyregexp.New(`(?i)\b(mailto|xmpp|javascript|vbscript|data|file|blob|tel|sms|callto|skype|facetime|geo|magnet|ms-[a-z0-9\-]+|search-ms|obsidian|vscode|zotero|slack|zoommtg|tg)(\s*):`)
	bareHost   = lazyregexp.New(`(?i)(www|ftp)\.`)
	mailbox    = lazyregexp.New(`([\pL\pN._%+\-])@([\pL\pN_\-]+\.)`)
	// modeline matches a line that configures an editor.
	modeline = lazyregexp.New(`(?i)(\bvim?|\bex|local variables|\bkate|\bend)(\s*):`)
)

// defuseLinks rewrites addresses in a common defanged form: people can still read them, but viewers
// do not create links.
func defuseLinks(s string) string {
	s = addressScheme.ReplaceAllString(s, "[:]$1$2")
	s = bareScheme.ReplaceAllString(s, "$1$2[:]")
	s = mailbox.ReplaceAllString(s, "$1[@]$2")
	return bareHost.ReplaceAllString(s, "$1[.]")
}

// renderText renders content as plain text.
func renderText(s string) string {
	s = defuseLinks(visibleText(s))
	s = modeline.ReplaceAllString(s, "$1$2 :")
	s = strings.ReplaceAll(s, "-*-", "- * -")
	return strings.TrimRight(s, "\n") + "\n"
}

// markdownSigns escapes the inline markup characters of Markdown and its dialects, except the
// characters for emphasis. Headings, lists and table pipes are kept.
var markdownSigns = strings.NewReplacer(
	`\`, `\\`, "&", "&amp;", "<", "&lt;", ">", "&gt;", "[", `\[`, "]", `\]`, "{", `\{`, "}", `\}`,
	"`", "\\`", "~", `\~`, "$", `\$`, "%", `\%`, "^", `\^`, ":::", ": : :",
)

// metadataFence matches a line that starts a metadata block for some converters, at any position in
// a text.
var metadataFence = lazyregexp.New(`^ *([-+.;]{3,}) *$`)

// renderMarkdown keeps the headings, lists, tables and emphasis of a Markdown text. It escapes all
// other markup, so that it becomes plain text: links, pictures, HTML, code, math, directives.
func renderMarkdown(s string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(renderText(s), "\n") {
		line = strings.TrimRight(strings.ReplaceAll(line, "\t", "    "), " ")
		line = markdownSigns.Replace(line)
		if m := metadataFence.FindStringSubmatch(line); m != nil {
			line = `\` + m[1]
		}
		b.WriteString(line + "\n")
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// renderTable parses a table and encodes it again: with commas, every cell in quotes, and without
// cells that a spreadsheet would calculate with any delimiter.
func renderTable(ext, content string) (string, bool) {
	content = lineEnds.Replace(strings.TrimPrefix(content, "\ufeff"))
	comma := delimiterOf(ext, content)
	if first, rest, _ := strings.Cut(content, "\n"); isSeparatorLine(first) {
		content = rest
	}
	r := csv.NewReader(strings.NewReader(content))
	r.Comma, r.LazyQuotes, r.FieldsPerRecord = comma, true, -1
	var b strings.Builder
	for cells := 0; ; {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return b.String(), true
		}
		if cells += len(row); err != nil || cells > maxCells {
			return "", false
		}
		for i, cell := range row {
			if i > 0 {
				b.WriteByte(',')
			}
			cell = renderCell(cell)
			if i < len(row)-1 {
				cell = withoutSign(cell)
			}
			b.WriteString(`"` + strings.ReplaceAll(cell, `"`, `""`) + `"`)
		}
		b.WriteByte('\n')
	}
}

// isSeparatorLine reports whether some programs read a line as a declaration of the table's
// delimiter.
func isSeparatorLine(line string) bool {
	line = strings.ToLower(strings.Trim(visibleText(line), " \"'\t"))
	return strings.HasPrefix(line, "sep=") && utf8.RuneCountInString(line) <= 5
}

// delimiterOf returns the declared delimiter of a table or, if none is declared, the most frequent
// delimiter.
func delimiterOf(ext, content string) rune {
	first, _, _ := strings.Cut(content, "\n")
	if isSeparatorLine(first) {
		said := strings.TrimPrefix(strings.ToLower(strings.Trim(first, " \"'")), "sep=")
		if c, _ := utf8.DecodeRuneInString(said); strings.ContainsRune(",;|\t", c) && said != "" {
			return c
		}
	}
	if ext == ".tsv" {
		return '\t'
	}
	best, most := ',', strings.Count(first, ",")
	for _, c := range ";|\t" {
		if n := strings.Count(first, string(c)); n > most {
			best, most = c, n
		}
	}
	return best
}

var (
	plainNumber = lazyregexp.New(`^[+\-]?[0-9][0-9.,]*([eE][+\-]?[0-9]{1,3})?( ?[%€$£])?$`)
	// fileSign matches text that changes the type of a file if the file starts with it.
	fileSign = lazyregexp.New(`(?i)^(sep=|id;)`)
)

// formulaSigns are the characters that start a formula in at least one program.
const formulaSigns = "=+-@＝＋－＠﹢﹣﹦﹫−"

// mark makes programs read the following characters as text. It is not a quote or a delimiter in
// any dialect.
const mark = '’'

// renderCell returns a cell that every program reads as text or as a number. A program may use a
// delimiter other than a comma, so renderCell searches for formulas after every possible delimiter.
func renderCell(cell string) string {
	cell = strings.Join(strings.Fields(visibleText(cell)), " ")
	if plainNumber.MatchString(cell) {
		return cell
	}
	cell = defuseLinks(cell)
	var b strings.Builder
	if fileSign.MatchString(cell) {
		b.WriteRune(mark)
	}
	begins := true
	for _, r := range cell {
		if begins && strings.ContainsRune(formulaSigns, r) {
			b.WriteRune(mark)
		}
		b.WriteRune(r)
		begins = strings.ContainsRune(",;|: ", r) || begins && strings.ContainsRune("\"'`´‘“”", r)
	}
	return b.String()
}

// withoutSign removes the sign at the start of a number that other cells follow. A program that uses
// another delimiter joins these cells with the number, and the sign would start a formula.
// Spreadsheets read a number in parentheses as negative. A number with a plus sign, such as a phone
// number, becomes text.
func withoutSign(number string) string {
	switch {
	case strings.HasPrefix(number, "-"):
		return "(" + number[1:] + ")"
	case strings.HasPrefix(number, "+"):
		return string(mark) + number
	}
	return number
}
