// Package evaluate measures memory retrieval with collections in the BEIR layout
// (https://github.com/beir-cellar/beir): corpus.jsonl, queries.jsonl and qrels/*.tsv in a folder.
// It loads a collection into a temporary memory and does not read the user's data. `hob eval
// retrieval` calls it.
package evaluate

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"hob/platform/host/system"
	"hob/platform/text/dateparse"
)

// Row is one document in a collection.
type Row struct {
	ID, Title, Text         string
	Speaker, Session, Stamp string
	At                      time.Time // zero if the row has no time
}

// Question is a query together with the rows that answer it.
type Question struct {
	ID, Text, Category string
	Relevant           map[string]int // relevance grades by row id
}

// Collection is the content of one folder.
type Collection struct {
	Name      string
	Rows      []Row
	Questions []Question // the questions that have an answer
}

// Limits on the input.
const (
	maxLine = 4 << 20
	maxRows = 5_000_000
)

// Read reads the collection in a folder.
func Read(dir string) (c Collection, err error) {
	c.Name = filepath.Base(filepath.Clean(dir))
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return c, fmt.Errorf("%s is not a folder with corpus.jsonl, queries.jsonl and qrels", dir)
	}
	known := map[string]bool{}
	err = forEachLine(filepath.Join(dir, "corpus.jsonl"), func(line []byte) error {
		r, err := readRow(line)
		switch {
		case err != nil:
			return err
		case known[r.ID]:
			return fmt.Errorf("the _id %q occurs twice", r.ID)
		case len(c.Rows) == maxRows:
			return fmt.Errorf("there are more than %d rows", maxRows)
		}
		known[r.ID] = true
		if n := len(c.Rows); n > 0 {
			r.continueSession(c.Rows[n-1])
		}
		c.Rows = append(c.Rows, r)
		return nil
	})
	if err != nil {
		return c, err
	}
	grades, err := readGrades(dir)
	if err != nil {
		return c, err
	}
	asked := map[string]bool{}
	err = forEachLine(filepath.Join(dir, "queries.jsonl"), func(line []byte) error {
		k, err := readQuestion(line)
		if err != nil {
			return err
		}
		if asked[k.ID] {
			return fmt.Errorf("the _id %q occurs twice", k.ID)
		}
		asked[k.ID] = true
		if k.Relevant = grades[k.ID]; len(k.Relevant) > 0 {
			c.Questions = append(c.Questions, k)
		}
		return nil
	})
	switch {
	case err != nil:
		return c, err
	case len(c.Rows) == 0:
		return c, fmt.Errorf("%s: corpus.jsonl has no rows", dir)
	case len(c.Questions) == 0:
		return c, fmt.Errorf("%s: no query in queries.jsonl has an answer in qrels", dir)
	}
	return c, nil
}

// entry is one line in corpus.jsonl or queries.jsonl.
type entry struct {
	ID       string                     `json:"_id"`
	Title    string                     `json:"title"`
	Text     string                     `json:"text"`
	Metadata map[string]json.RawMessage `json:"metadata"`
}

func readEntry(line []byte) (entry, error) {
	var e entry
	if err := json.Unmarshal(line, &e); err != nil {
		return e, fmt.Errorf("not a JSON object with _id and text: %w", err)
	}
	if e.ID == "" {
		return e, errors.New("_id is missing")
	}
	if !utf8.ValidString(e.Text) || strings.TrimSpace(e.Text+e.Title) == "" {
		return e, fmt.Errorf("%q has no text", e.ID)
	}
	return e, nil
}

// metadataText returns a metadata value as a string, or "" if it is missing.
func (e entry) metadataText(name string) string {
	raw, ok := e.Metadata[name]
	if !ok {
		return ""
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return strings.Trim(string(raw), `" `)
}

func readRow(line []byte) (Row, error) {
	e, err := readEntry(line)
	if err != nil {
		return Row{}, err
	}
	r := Row{ID: e.ID, Title: e.Title, Text: e.Text, Speaker: e.metadataText("speaker"), Session: e.metadataText("session"), Stamp: e.metadataText("time")}
	if r.Speaker != "" { // many collections also prepend the speaker to the text
		r.Text = strings.TrimPrefix(r.Text, r.Speaker+": ")
	}
	if r.Stamp != "" {
		if r.At, err = readTime(r.Stamp); err != nil {
			return r, fmt.Errorf("%q: %w", e.ID, err)
		}
	}
	return r, nil
}

// continueSession adds the session and time of the previous row to a row that has only a speaker.
// Some collections write them only in the first row of a session.
func (r *Row) continueSession(previous Row) {
	if r.Session != "" || r.Speaker == "" || previous.Session == "" {
		return
	}
	r.Session = previous.Session
	if r.Stamp == "" {
		r.Stamp, r.At = previous.Stamp, previous.At
	}
}

// storedSpeaker returns the name under which Hob stores the rows of a speaker. The two roles of a
// conversation between a person and an assistant have reserved names.
func (r *Row) storedSpeaker() string {
	switch strings.ToLower(r.Speaker) {
	case "user", "human":
		return "owner"
	case "assistant", "ai":
		return "hob"
	}
	return r.Speaker
}

func readQuestion(line []byte) (Question, error) {
	e, err := readEntry(line)
	return Question{ID: e.ID, Text: e.Text, Category: e.metadataText("category")}, err
}

// readTime parses a time in one of the common formats of people and programs.
func readTime(s string) (time.Time, error) {
	s = strings.TrimSpace(s)
	for _, form := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02", "3:04 pm on 2 January, 2006"} {
		if t, err := time.Parse(form, s); err == nil {
			return t, nil
		}
	}
	for _, m := range dateparse.Find(s, time.Unix(0, 0).UTC()) {
		if m.Moment != nil {
			return m.Moment.Time, nil
		}
	}
	return time.Time{}, fmt.Errorf("invalid time %q; write it like 2026-03-09T12:00:00Z", s)
}

// readGrades reads the files qrels/*.tsv.
func readGrades(dir string) (map[string]map[string]int, error) {
	files, err := filepath.Glob(filepath.Join(system.EscapeGlob(dir), "qrels", "*.tsv"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("%s: qrels has no .tsv file", dir)
	}
	slices.Sort(files)
	out := map[string]map[string]int{}
	for _, name := range files {
		first := true
		err := forEachLine(name, func(line []byte) error {
			header := first
			first = false
			query, row, grade, err := readGrade(string(line))
			switch {
			case err != nil && header:
				return nil
			case err != nil:
				return err
			case grade <= 0:
				return nil
			case out[query] == nil:
				out[query] = map[string]int{}
			}
			out[query][row] = grade
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// readGrade parses a line in qrels: query, row and grade, separated by tabs.
func readGrade(line string) (query, row string, grade int, err error) {
	f := strings.Split(strings.TrimRight(line, "\r"), "\t")
	if len(f) != 3 {
		return "", "", 0, fmt.Errorf("%d columns instead of query-id, corpus-id and score, separated by tabs", len(f))
	}
	grade, err = strconv.Atoi(strings.TrimSpace(f[2]))
	if err != nil || grade > 1000 {
		return "", "", 0, fmt.Errorf("the score %q is not an integer up to 1000", f[2])
	}
	return f[0], f[1], grade, nil
}

// forEachLine calls f for each line that is not empty. Errors include the file and the line.
func forEachLine(name string, f func([]byte) error) (err error) {
	file, err := os.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s is missing", name)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return scanLines(file, name, f)
}

func scanLines(r io.Reader, name string, f func([]byte) error) error {
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 64<<10), maxLine)
	n := 0
	for sc.Scan() {
		n++
		if len(strings.TrimSpace(sc.Text())) == 0 {
			continue
		}
		if err := f(sc.Bytes()); err != nil {
			return fmt.Errorf("%s, line %d: %w", name, n, err)
		}
	}
	if errors.Is(sc.Err(), bufio.ErrTooLong) {
		return fmt.Errorf("%s, line %d: longer than 4 MB", name, n+1)
	}
	return sc.Err()
}
