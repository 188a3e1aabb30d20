package transfer

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hob/knowledge"
	"hob/platform/provenance"
)

var key = []byte("0123456789abcdef0123456789abcdef")

func writeFile(t testing.TB, name, text string) string {
	t.Helper()
	p := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

// readRecords opens a file and reads its records.
func readRecords(t testing.TB, path string, key []byte) (s *Source, out []Record, skipped []string) {
	t.Helper()
	s, err := Open(path, key)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	err = s.Read(func(r Record) error { out = append(out, r); return nil }, func(where string, err error) { skipped = append(skipped, fmt.Sprintf("%s: %v", where, err)) }, func(int64) {})
	if err != nil {
		t.Fatal(err)
	}
	return s, out, skipped
}

// randomText returns random text with characters that are difficult to encode.
func randomText(r *rand.Rand) string {
	pieces := []string{"a", "Ana", " ", "  ", "\n", "\n\n", "- ", "# ", "### x", "<!-- hob:{} -->", "-->", "<", ">", "&", "&amp;", "&lt;", "&#13;", "\r", "\t", "é", "日本", "\u2028", "🫖", `"`, `\`, "{", "|", "*", "```", "\u0085", "x"}
	var b strings.Builder
	for range r.IntN(12) {
		b.WriteString(pieces[r.IntN(len(pieces))])
	}
	return b.String()
}

func randomRecord(r *rand.Rand) Record {
	at := time.UnixMilli(r.Int64N(2e12)).UTC()
	src := []provenance.Source{provenance.Owner, provenance.Hob, provenance.Outside}[r.IntN(3)]
	switch r.IntN(9) {
	case 0:
		return Record{Fact: &knowledge.Fact{ID: randomText(r), Text: randomText(r), Provenance: src, CreatedAt: at, RetiredBy: randomText(r), Origins: []provenance.Origin{{Kind: "web", Label: randomText(r)}}}}
	case 1:
		return Record{Entity: &knowledge.Entity{ID: "e1", Name: randomText(r), Aliases: []string{randomText(r), "b"}, CreatedAt: at}}
	case 2:
		return Record{Relation: &knowledge.Relation{ID: "r1", From: randomText(r), Name: randomText(r), To: "x"}}
	case 3:
		return Record{Note: &Note{ID: "n1", Title: randomText(r), Text: randomText(r), CreatedAt: at, UpdatedAt: at, Provenance: src}}
	case 4:
		return Record{Chunk: &knowledge.Doc{Kind: "chunk", Ref: "c1", Title: randomText(r), Text: randomText(r), Pos: 3, Provenance: src}}
	case 5:
		return Record{Turn: &knowledge.Doc{Kind: "turn", Ref: "i1", Title: randomText(r), Text: randomText(r), Speaker: randomText(r), At: at}}
	case 6:
		return Record{Session: &Session{ID: randomText(r), CreatedAt: at}}
	case 7:
		return Record{Message: &Message{Session: "s", Turn: "t", At: at, Message: encodeText(randomText(r))}}
	}
	return Record{Preference: encodeText(randomText(r))}
}

func encodeText(text string) json.RawMessage {
	b, _ := json.Marshal(map[string]string{"text": text}) // strings can always be encoded
	return b
}

// Random records survive a round trip in both formats, with a valid seal.
func TestRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a test needs no secure random numbers
	formats := map[string]func(w io.Writer) (Writer, error){
		"x.jsonl": func(w io.Writer) (Writer, error) { return NewJSONL(w, key, time.Unix(1e9, 0)) },
		"x.md":    func(w io.Writer) (Writer, error) { return NewMarkdown(w, key, time.Unix(1e9, 0), time.UTC) },
	}
	for name, begin := range formats {
		t.Run(name, func(t *testing.T) {
			for range 200 {
				var want []Record
				var b bytes.Buffer
				w, err := begin(&b)
				for range r.IntN(20) {
					want = append(want, randomRecord(r))
					err = errors.Join(err, w.Write(want[len(want)-1]))
				}
				if err = errors.Join(err, w.Close()); err != nil {
					t.Fatal(err)
				}
				s, got, skipped := readRecords(t, writeFile(t, name, b.String()), key)
				if diff := cmp.Diff(want, got); diff != "" || len(skipped) > 0 || !s.Authentic {
					t.Fatalf("sealed %v, skipped %v\n%s\n%s", s.Authentic, skipped, diff, b.String())
				}
				if s, _, _ := readRecords(t, writeFile(t, name, b.String()), []byte("another home")); s.Authentic {
					t.Fatal("a file of another home has a valid seal")
				}
			}
		})
	}
}

func exportRecords(t testing.TB, records ...Record) string {
	t.Helper()
	var b bytes.Buffer
	w, err := NewJSONL(&b, key, time.Unix(1e9, 0))
	for _, r := range records {
		err = errors.Join(err, w.Write(r))
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestSeal_ChangedFile(t *testing.T) {
	whole := exportRecords(t, Record{Fact: &knowledge.Fact{ID: "f1", Text: "the key is here", Provenance: provenance.Owner}}, Record{Fact: &knowledge.Fact{ID: "f2", Text: "b"}})
	lines := strings.SplitAfter(whole, "\n")
	for _, tc := range []struct {
		name, text string
		want       bool
	}{
		{"unchanged", whole, true},
		{"a word changed", strings.Replace(whole, "here", "lost", 1), false},
		{"missing line", lines[0] + lines[1] + lines[3], false},
		{"duplicate line", lines[0] + lines[1] + lines[1] + lines[2] + lines[3], false},
		{"without the end line", lines[0] + lines[1] + lines[2], false},
		{"with another seal", lines[0] + lines[1] + lines[2] + `{"end":{"records":2,"seal":"00"}}` + "\n", false},
		{"data after the end line", whole + lines[1], false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, _, _ := readRecords(t, writeFile(t, "x.jsonl", tc.text), key)
			if s.Authentic != tc.want {
				t.Errorf("sealed: %v", s.Authentic)
			}
		})
	}
}

// If data changes after the seal was checked, the reader does not return it.
func TestSeal_FileChangedAfterTheCheck(t *testing.T) {
	path := writeFile(t, "x.jsonl", exportRecords(t, Record{Fact: &knowledge.Fact{ID: "f1", Text: "the key is here"}}))
	s, err := Open(path, key)
	if err != nil || !s.Authentic {
		t.Fatal(s.Authentic, err)
	}
	defer s.Close()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, bytes.Replace(b, []byte("here"), []byte("lost"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	err = s.Read(func(Record) error { t.Error("a changed record was returned"); return nil }, func(string, error) {}, func(int64) {})
	if !errors.Is(err, ErrChanged) {
		t.Error(err)
	}
}

const chatGPTFile = `[{"title":"Trip","id":"c1","create_time":1700000000.5,"current_node":"n4","mapping":{
 "root":{"parent":"","children":["n1"]},
 "n1":{"parent":"root","children":["n2","n3"],"message":{"author":{"role":"user"},"create_time":1700000001,"content":{"content_type":"text","parts":["Where to in May?"]}}},
 "n2":{"parent":"n1","children":[],"message":{"author":{"role":"assistant"},"content":{"content_type":"text","parts":["To Norway."]}}},
 "n3":{"parent":"n1","children":["n4"],"message":{"author":{"role":"assistant"},"create_time":1700000003,"content":{"content_type":"text","parts":["To Lisbon.",{"asset_pointer":"x"}]}}},
 "n4":{"parent":"n3","children":[],"message":{"author":{"role":"tool"},"content":{"content_type":"text","parts":["noise"]}}}}},
 {"title":"broken","id":"c2","mapping":7},
 {"title":"loop","id":"c3","current_node":"a","mapping":{"a":{"parent":"b","children":["b"],"message":{"author":{"role":"user"},"content":{"parts":["round"]}}},"b":{"parent":"a","children":["a"]}}}]`

const claudeFile = `[{"uuid":"u1","name":"Bread","created_at":"2025-01-02T03:04:05Z","chat_messages":[
 {"uuid":"m1","sender":"human","text":"How much salt?","created_at":"2025-01-02T03:04:06.789Z","attachments":[{"file_name":"r.txt","extracted_content":"flour"}]},
 {"uuid":"m2","sender":"assistant","text":"","content":[{"type":"thinking","text":""},{"type":"text","text":"2 %"}]}]}, 5]`

func formatTurns(list []Record) (out []string) {
	for _, r := range list {
		if r.Turn == nil || r.Turn.Provenance != provenance.Outside || r.Turn.Ref == "" {
			out = append(out, "?")
			continue
		}
		out = append(out, fmt.Sprintf("%s %d %s: %s", r.Turn.Group, r.Turn.Pos, r.Turn.Speaker, r.Turn.Text))
	}
	return out
}

func TestRead_ConversationsOfOtherPrograms(t *testing.T) {
	zipped := filepath.Join(t.TempDir(), "x.zip")
	f, err := os.Create(zipped)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	w, err := z.Create("export/conversations.json")
	if err == nil {
		_, err = io.WriteString(w, chatGPTFile)
	}
	if err = errors.Join(err, z.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	chat := []string{"chatgpt:c1 1 you: Where to in May?", "chatgpt:c1 2 chatgpt: To Lisbon.", "chatgpt:c1#1 5 chatgpt: To Norway.", "chatgpt:c3 1 you: round"}
	for _, tc := range []struct {
		name, path string
		format     Format
		want       []string
		skipped    int
	}{
		{"chatgpt", writeFile(t, "conversations.json", chatGPTFile), ChatGPT, chat, 1},
		{"chatgpt in a zip", zipped, ChatGPT, chat, 1},
		{"claude", writeFile(t, "conversations.json", claudeFile), Claude, []string{"claude:u1 1 you: How much salt?\n[r.txt]\nflour", "claude:u1 2 claude: 2 %"}, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, got, skipped := readRecords(t, tc.path, key)
			if s.Format != tc.format || s.Authentic || len(skipped) != tc.skipped {
				t.Errorf("%s, sealed %v, skipped %v", s.Format, s.Authentic, skipped)
			}
			if diff := cmp.Diff(tc.want, formatTurns(got)); diff != "" {
				t.Error(diff)
			}
			_, again, _ := readRecords(t, tc.path, key)
			if diff := cmp.Diff(got, again); diff != "" {
				t.Errorf("second read differs: %s", diff)
			}
		})
	}
}

const cards = "BEGIN:VCARD\r\nVERSION:3.0\r\nUID:1\r\nN:Novak;Ana;;;\r\nFN:Ana Novak\r\nNICKNAME:Anči\r\nitem1.EMAIL;TYPE=work:Ana@Initech.example\r\nTEL;TYPE=cell:+386 41 555\r\n  777\r\nORG:Initech;Sales\r\nPHOTO;ENCODING=b:AAAA\r\nNOTE:likes\\, tea\\nand rain\r\nEND:VCARD\r\n" +
	"BEGIN:VCARD\r\nVERSION:2.1\r\nFN;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:J=C3=B6rg=\r\n=20Ek\r\nEND:VCARD\r\nBEGIN:VCARD\r\nVERSION:4.0\r\nEND:VCARD\r\nBEGIN:VCARD\r\nFN:cut"

func TestVCard(t *testing.T) {
	s, got, skipped := readRecords(t, writeFile(t, "x.vcf", cards), key)
	if s.Format != VCard || len(skipped) != 2 {
		t.Errorf("%s, skipped %v", s.Format, skipped)
	}
	var out []string
	for _, r := range got {
		switch {
		case r.Entity != nil:
			out = append(out, r.Entity.Kind+" "+r.Entity.Name+" "+strings.Join(r.Entity.Aliases, ", "))
		case r.Relation != nil:
			out = append(out, r.Relation.Name)
		case r.Fact != nil:
			out = append(out, r.Fact.Text)
		}
	}
	want := []string{
		"person Ana Novak Anči, ana@initech.example, +386 41 555 777", "organisation Initech ", "works_at",
		"Ana Novak: mail ana@initech.example; phone +386 41 555 777; works at Initech; note likes, tea and rain", "person Jörg Ek ", "Jörg Ek is in the address book",
	}
	if diff := cmp.Diff(want, out); diff != "" {
		t.Error(diff)
	}
}

func TestRead_NotesFolder(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"People/Ana.md": "---\naliases: [Anči, \"Ana N\"]\ntags:\n  - person\n---\nWorks at [[Initech|the firm]] and likes [[Tea#green]]. See [[Ana]].",
		"Initech.md":    "A firm in [[Places/Ljubljana]].",
		"alone.md":      "nothing links here",
		".trash/old.md": "[[Ana]]",
	} {
		p := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(p), 0o700), os.WriteFile(p, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc", filepath.Join(dir, "out")); err != nil {
		t.Log("symlinks are not supported:", err)
	}
	s, got, skipped := readRecords(t, dir, key)
	if s.Format != Vault || len(skipped) != 0 {
		t.Errorf("%s, skipped %v", s.Format, skipped)
	}
	names := map[string]string{}
	var out []string
	for _, r := range got {
		if r.Entity != nil {
			names[r.Entity.ID] = r.Entity.Name
			if len(r.Entity.Aliases) > 0 {
				out = append(out, r.Entity.Kind+" "+r.Entity.Name+" = "+strings.Join(r.Entity.Aliases, ", "))
			}
		} else {
			out = append(out, names[r.Relation.From]+" "+r.Relation.Name+" "+names[r.Relation.To])
		}
	}
	want := []string{"Initech links_to Ljubljana", "person Ana = Anči, Ana N", "Ana links_to Initech", "Ana links_to Tea"}
	if diff := cmp.Diff(want, out); diff != "" {
		t.Error(diff)
	}
}

func TestRecognize(t *testing.T) {
	for text, want := range map[string]Format{
		"": Document, "# Boiler": Document, "[1]": Document, `[{"x":"mapping"}]`: Document, chatGPTFile: ChatGPT, claudeFile: Claude, cards: VCard,
		"\xef\xbb\xbfbegin:vcard\r\n": VCard, exportRecords(t): HobJSONL, "PK\x03\x04 nothing": Document,
	} {
		s, err := Open(writeFile(t, "x", text), key)
		if err != nil || s.Format != want {
			t.Errorf("%.20q: %v, want %s", text, err, want)
			continue
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := Open(filepath.Join(t.TempDir(), "nothing"), key); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// The reader accepts any input. It stops at the end or with an error, and returns a limited number
// of records.
func FuzzRead(f *testing.F) {
	f.Add([]byte(chatGPTFile))
	f.Add([]byte(claudeFile))
	f.Add([]byte(cards))
	f.Add([]byte(exportRecords(f, Record{Fact: &knowledge.Fact{ID: "f1", Text: "a"}}, Record{Preference: encodeText("x")})))
	var b bytes.Buffer
	w, err := NewMarkdown(&b, key, time.Unix(1e9, 0), time.UTC)
	if err = errors.Join(err, w.Write(Record{Fact: &knowledge.Fact{ID: "f1", Text: "a\nb"}}), w.Write(Record{Note: &Note{Title: "t", Text: "x"}}), w.Close()); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte(`{"hob":"memory","version":1}` + "\n" + `{"fact":{},"note":{}}` + "\n[[[[\n{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		n := 0
		t1 := recordFunc{each: func(r Record) error {
			if n++; r.Kind() == "" {
				t.Error("invalid record was accepted")
			}
			return nil
		}, skip: func(string, error) { n++ }}
		for _, read := range []func(io.Reader, recordFunc) error{readJSONL, readMarkdown, readChatGPT, readClaude, readVCard} {
			n = 0
			_ = read(bytes.NewReader(data), t1) // an error is a valid result
			if n > 10*len(data)+10 {
				t.Errorf("%d records of %d bytes", n, len(data))
			}
		}
		front, body := frontMatter(string(data))
		_ = frontMatterValues(front, "tags")
		_ = loadWikiLink().FindAllString(body, -1)
		_, _, _ = checkSeal(bytes.NewReader(data), int64(len(data)), key)
	})
}
