package config

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"hob/platform/host/system"
)

// Remove removes a section such as "agents.research" from the file, including its subsections and
// the comments directly above them. It writes nothing if the result would have a new mistake, for
// example a route that names the agent.
func Remove(path, section string) error {
	text, _, err := readConfigFile(path)
	if err != nil {
		return err
	}
	_, had := Parse(path, text)
	d, err := parseDocument(path, text)
	if err != nil {
		return err
	}
	out, err := d.withoutTables(strings.Split(section, "."))
	if err != nil {
		return err
	}
	if _, has := Parse(path, out); has != nil {
		if err := newMistakes(had, has); err != nil {
			return err
		}
	}
	if isBlank(out) { // Revisions.Load takes an empty file for a damaged one
		out = []byte("# All keys have their defaults.\n")
	}
	return system.WriteFile(path, out)
}

// withoutTables returns the text without the tables below path.
func (d *document) withoutTables(path []string) ([]byte, error) {
	within := func(p []string) bool { return len(p) >= len(path) && slices.Equal(p[:len(path)], path) }
	var out []byte
	from, cut := 0, -1
	for i := range d.entries {
		e := &d.entries[i]
		switch {
		case !e.isHeader():
			if within(e.path) && !within(e.table) {
				return nil, &Error{File: d.file, Line: e.line, Key: joinKey(e.path), Msg: "not written as a section; edit the file by hand"}
			}
		case within(e.path) && cut < 0:
			cut = d.commentStart(e)
			out = append(out, d.text[from:cut]...)
		case !within(e.path) && cut >= 0:
			from, cut = d.commentStart(e), -1
		}
	}
	if from == 0 && cut < 0 {
		return nil, fmt.Errorf("[%s] is not in %s", joinKey(path), d.file)
	}
	if cut < 0 {
		out = append(out, d.text[from:]...)
	}
	if d.bom {
		out = append([]byte(bom), out...)
	}
	return out, nil
}

// commentStart returns the offset of the comment lines directly above a header.
func (d *document) commentStart(e *entry) int {
	start := d.lines[e.line-1]
	for l := e.line - 1; l > 0; l-- {
		line := bytes.TrimSpace(d.text[d.lines[l-1]:d.lines[l]])
		if !bytes.HasPrefix(line, []byte("#")) {
			break
		}
		start = d.lines[l-1]
	}
	return start
}
