package research

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"hob/platform/text/lazyregexp"
	"hob/platform/text/summary"
)

var (
	sourceLine = lazyregexp.New(`^\[(\d{1,3})\] (.*?(https?://[^\s()]+).*)$`)
	citation   = lazyregexp.New(`\[(\d{1,3})\]`)
)

// renumberCitations replaces the numbers of citations: number maps a number to a position from 0.
// Citations without a position are removed.
func renumberCitations(line string, number func(string) (int, bool)) string {
	out := citation.ReplaceAllStringFunc(line, func(m string) string {
		if at, ok := number(strings.Trim(m, "[]")); ok {
			return "[" + strconv.Itoa(at+1) + "]"
		}
		return ""
	})
	return strings.TrimSpace(out)
}

// mergeResearch merges several results: each source and each line occurs once.
func mergeResearch(list []storedResearch) (out storedResearch) {
	for _, r := range list {
		if out.at.IsZero() || r.at.After(out.at) {
			out.at = r.at
		}
		places := make([]int, len(r.sources))
		for i, s := range r.sources {
			places[i] = slices.IndexFunc(out.sources, func(x storedSource) bool { return addressKey(x.address) == addressKey(s.address) })
			if places[i] < 0 {
				places[i] = len(out.sources)
				out.sources = append(out.sources, s)
			}
		}
		for _, s := range r.sections {
			at := slices.IndexFunc(out.sections, func(x storedSection) bool { return strings.EqualFold(x.title, s.title) })
			if at < 0 {
				at = len(out.sections)
				out.sections = append(out.sections, storedSection{title: s.title})
			}
			for _, line := range s.lines {
				line = renumberCitations(line, func(n string) (int, bool) {
					i, err := strconv.Atoi(n)
					if err != nil || i < 1 || i > len(places) {
						return 0, false
					}
					return places[i-1], true
				})
				if !isRepeated(out.sections[at].lines, line) {
					out.sections[at].lines = append(out.sections[at].lines, line)
				}
			}
		}
	}
	return out
}

var (
	lineMark = lazyregexp.New(`^(#{1,2} |- |\d{1,3}\. )`)
	// escapeSigns escapes the signs that begin emphasis, code, links, pictures, HTML and entities.
	escapeSigns = strings.NewReplacer("\\", "\\\\", "`", "\\`", "*", "\\*", "_", "\\_", "~", "\\~", "[", "\\[", "]", "\\]", "<", "\\<", ">", "\\>", "&", "\\&", "|", "\\|")
	webAddress  = lazyregexp.New(`https?://[^\s()<>]+[^\s()<>.,;]`)
)

// escapeReport escapes the quotations of a report, which may contain markup, and makes the addresses
// of the sources links.
func escapeReport(text string) string {
	var b strings.Builder
	sources := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		sources = sources || line == "## "+sourcesTitle
		mark := lineMark.FindString(line)
		rest := line[len(mark):]
		at := []int{len(rest), len(rest)}
		if m := webAddress.FindStringIndex(rest); m != nil && sources {
			at = m
		}
		b.WriteString(mark + escapeSigns.Replace(rest[:at[0]]))
		if address := rest[at[0]:at[1]]; address != "" {
			fmt.Fprintf(&b, "[%s](%s)", escapeSigns.Replace(address), address)
		}
		b.WriteString(escapeSigns.Replace(rest[at[1]:]) + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

// isRepeated reports whether a list has a line with nearly the same words.
func isRepeated(list []string, line string) bool {
	terms := summary.Terms(line, "")
	return slices.ContainsFunc(list, func(x string) bool { return x == line || summary.Similarity(summary.Terms(x, ""), terms) > 0.92 })
}

// renderReport renders the merged results as Markdown. A brief report has the best line of each
// question, an executive summary has up to two and the disagreements, and a detailed report has all.
func (r storedResearch) renderReport(topic, format string, now time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", strings.TrimRight(topic, "?"))
	fmt.Fprintf(&b, "Report of %s, from %d sources. All statements are quotations.\n", now.Format(time.DateOnly), len(r.sources))
	most := map[string]int{"brief": 1, "executive_summary": 2, "detailed": 100}[format]
	if format == "detailed" {
		b.WriteString("\n## Summary\n\n")
		for _, s := range r.sections {
			if s.title != disagreementTitle && len(s.lines) > 0 {
				b.WriteString("- " + s.lines[0] + "\n")
			}
		}
	}
	for _, s := range r.sections {
		if s.title == disagreementTitle && format == "brief" || len(s.lines) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n", s.title)
		for i, line := range s.lines {
			if i < most || s.title == disagreementTitle {
				b.WriteString("- " + line + "\n")
			}
		}
	}
	fmt.Fprintf(&b, "\n## %s\n\n", sourcesTitle)
	for i, s := range r.sources {
		fmt.Fprintf(&b, "%d. %s\n", i+1, s.text)
	}
	return strings.TrimRight(b.String(), "\n")
}
