package guard

import (
	"bufio"
	"bytes"
	"context"
	"crypto/hmac"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"hob/platform/store"
)

// Seal is the last line of an export. It describes the content, so that a truncated file is
// detected.
type Seal struct {
	From  int64     `json:"from"` // the first line, and the last line
	To    int64     `json:"to"`
	Lines int64     `json:"lines"`
	Head  string    `json:"head"` // hash of the audit log's last line
	At    time.Time `json:"exported_at"`
	MAC   string    `json:"mac,omitempty"` // computed with the audit key
}

func (s Seal) computeMAC(key []byte) string {
	return hmacHex(deriveKey(key, "export"), fmt.Appendf(nil, "%d %d %d %s %d", s.From, s.To, s.Lines, s.Head, s.At.UnixMilli()))
}

// ErrNoFormat means that the export format is unknown.
var ErrNoFormat = errors.New(`the formats are "jsonl" and "csv"`)

// Export writes a continuous range of lines, followed by a seal. The range starts with the first
// line at or after since and ends with the last line before until; a zero time means no limit. The
// format is JSON lines, which VerifyExport verifies, or CSV for a spreadsheet.
func (g *Guard) Export(ctx context.Context, w io.Writer, format string, since, until time.Time) (Seal, error) {
	s := Seal{At: time.Now().UTC().Truncate(time.Millisecond)}
	if format != "jsonl" && format != "csv" {
		return s, ErrNoFormat
	}
	var from, to int64
	err := g.db.Read().QueryRowContext(ctx, `SELECT coalesce(min(seq), 0), coalesce(max(seq), 0) FROM audit WHERE at >= ?1 AND (?2 = 0 OR at < ?2)`,
		store.Millis(since), store.Millis(until)).Scan(&from, &to)
	if err != nil {
		return s, fmt.Errorf("guard: export audit log: %w", err)
	}
	out := lineWriter(w, format)
	if to > 0 {
		err = g.eachLine(ctx, from, to, func(r Record) error {
			if s.Lines == 0 {
				s.From = r.Seq
			}
			s.Lines, s.To, s.Head = s.Lines+1, r.Seq, r.Hash
			return out.writeRecord(r)
		})
	}
	g.mu.Lock()
	if len(g.master) > 0 {
		s.MAC = s.computeMAC(g.master)
	}
	g.mu.Unlock()
	if err = errors.Join(err, out.writeSeal(s)); err != nil {
		return s, fmt.Errorf("guard: export audit log: %w", err)
	}
	return s, nil
}

// exportWriter writes an export in one format.
type exportWriter interface {
	writeRecord(Record) error
	writeSeal(Seal) error
}

func lineWriter(w io.Writer, format string) exportWriter {
	if format == "csv" {
		return &csvLines{w: csv.NewWriter(w)}
	}
	return jsonLines{json.NewEncoder(w)}
}

// sealedExport is the form of the seal in a JSON lines file.
type sealedExport struct {
	Seal *Seal `json:"audit_export"`
}

type jsonLines struct{ enc *json.Encoder }

func (l jsonLines) writeRecord(r Record) error { return l.enc.Encode(r) }
func (l jsonLines) writeSeal(s Seal) error     { return l.enc.Encode(sealedExport{&s}) }

type csvLines struct {
	w     *csv.Writer
	begun bool
}

func (l *csvLines) writeRecord(r Record) error {
	l.writeHeader()
	return l.w.Write([]string{
		strconv.FormatInt(r.Seq, 10), r.At.Format(time.RFC3339Nano), r.Actor, r.Action, csvCell(r.Event), csvCell(r.Session), csvCell(r.Origin), csvCell(r.Tool), csvCell(r.Call),
		r.Effects, r.Verdict, csvCell(r.Rule), strconv.FormatBool(r.Tainted), csvCell(r.Outcome), r.From, r.Digest, r.Prev, r.Hash,
	})
}

// csvCell changes s so that a spreadsheet does not interpret it as a formula.
func csvCell(s string) string {
	if s != "" && bytes.IndexByte([]byte("=+-@\t\r"), s[0]) >= 0 {
		return "'" + s
	}
	return s
}

func (l *csvLines) writeHeader() {
	if !l.begun {
		l.begun = true
		_ = l.w.Write([]string{"seq", "at", "actor", "action", "event", "session", "origin", "tool", "call", "effects", "verdict", "rule", "tainted", "outcome", "from", "args_digest", "prev", "hash"}) // write errors are returned by Error
	}
}

func (l *csvLines) writeSeal(Seal) error {
	l.writeHeader()
	l.w.Flush()
	return l.w.Error()
}

// VerifyExport verifies a JSON lines file that Export wrote: each line, the order, and that no line
// is missing at the end. key is the home's audit key; if it is nil, keyed lines cause an error.
// Errors in the content are *TamperError.
func VerifyExport(r io.Reader, key []byte) (Seal, error) {
	c := checker{}
	if len(key) > 0 {
		c.key = deriveKey(key, "chain")
	}
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, 64<<10), 1<<20)
	for in.Scan() {
		if bytes.HasPrefix(in.Bytes(), []byte(`{"audit_export":`)) {
			var s sealedExport
			if err := json.Unmarshal(in.Bytes(), &s); err != nil || s.Seal == nil {
				return Seal{}, fmt.Errorf("guard: read the last line of the export: %w", errors.Join(err, errSeal))
			}
			if in.Scan() {
				return *s.Seal, &TamperError{Line: s.Seal.To, Why: "there is data after the seal of the export"}
			}
			return *s.Seal, c.checkSeal(*s.Seal, key)
		}
		var rec Record
		dec := json.NewDecoder(bytes.NewReader(in.Bytes()))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&rec); err != nil {
			return Seal{}, &TamperError{Line: c.last.Seq + 1, Why: "it is not an audit log line: " + err.Error()}
		}
		first := rec.Seq
		if err := c.checkNext(rec, first); err != nil {
			return Seal{}, err
		}
	}
	if err := in.Err(); err != nil {
		return Seal{}, fmt.Errorf("guard: read the export: %w", err)
	}
	return Seal{}, &TamperError{Line: c.last.Seq, Why: "the seal at the end of the export is missing"}
}

var errSeal = errors.New("the last line is not an export seal")

// checkSeal compares the lines read with the seal.
func (c *checker) checkSeal(s Seal, key []byte) error {
	switch {
	case s.Lines != c.lines || s.To != c.last.Seq || s.Head != c.last.Hash || s.From != c.last.Seq-c.lines+min(1, c.lines):
		return &TamperError{Line: c.last.Seq, Why: "the export does not contain the lines that its seal describes"}
	case len(key) > 0 && !hmac.Equal([]byte(s.MAC), []byte(s.computeMAC(key))):
		return &TamperError{Line: c.last.Seq, Why: "the seal of the export was not written with this audit key"}
	}
	return c.checkEnd()
}
