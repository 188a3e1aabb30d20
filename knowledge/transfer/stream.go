package transfer

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"hob/knowledge"
	"hob/platform/provenance"
	"hob/platform/text/textnorm"
)

// budget limits the bytes of one record.
type budget struct {
	r    io.Reader
	left int
}

func (b *budget) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, ErrTooLong
	}
	n, err := b.r.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// forEachElement calls fn for each element of a JSON array, which may be larger than the available
// memory. For a file that contains one object, it calls fn once.
func forEachElement(r io.Reader, fn func(n int, raw json.RawMessage) error) error {
	b := &budget{r: r, left: maxRecord}
	d := json.NewDecoder(b)
	start, err := d.Token()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if start != json.Delim('[') {
		return fmt.Errorf("%w: expected a JSON array", ErrFormat)
	}
	for n := 1; d.More(); n++ {
		b.left = maxRecord
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			if errors.Is(err, ErrTooLong) {
				err = ErrTooLong
			}
			return fmt.Errorf("transfer: conversation %d: %w", n, err)
		}
		if err := fn(n, raw); err != nil {
			return err
		}
	}
	b.left = maxRecord
	if _, err := d.Token(); err != nil {
		return fmt.Errorf("transfer: the file is truncated: %w", err)
	}
	return nil
}

// conversation is a conversation in another program, in the order in which it is read.
type conversation struct {
	program  string // see knowledge.ByChatGPT
	id       string
	title    string
	branch   int // 0 means the active branch
	messages []utterance
}

type utterance struct {
	id      string
	speaker string
	text    string
	at      time.Time
}

// Speakers in other programs.
const (
	// You is the user of the other program. Hob does not trust it as its own user, because anyone
	// can create such a file.
	You = knowledge.ByYou
)

// maxText is the length in bytes at which messages are truncated. Longer messages contain pasted
// text.
const maxText = 100_000

// emitTurns emits the messages of a conversation as rows.
func (c conversation) emitTurns(t recordFunc, from int) error {
	group := c.program + ":" + c.id
	if c.branch > 0 {
		group = fmt.Sprintf("%s#%d", group, c.branch)
	}
	for i, m := range c.messages {
		text := strings.TrimSpace(strings.ToValidUTF8(m.text, "\uFFFD"))
		if text == "" {
			continue
		}
		if len(text) > maxText {
			text = strings.ToValidUTF8(text[:maxText], "")
		}
		err := t.emitRecord("", Record{Turn: &knowledge.Doc{
			Kind: knowledge.KindTurn, Ref: stableRef(c.program, c.id, m.id), Title: textnorm.Ellipsize(strings.ToValidUTF8(c.title, "\uFFFD"), 200), Text: text, At: m.at,
			Provenance: provenance.Outside, Group: group, Pos: from + i + 1, Speaker: m.speaker,
		}})
		if err != nil {
			return err
		}
	}
	return nil
}

// stableRef returns an id for an item of another program that is the same in every import.
func stableRef(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return "i" + hex.EncodeToString(h.Sum(nil)[:10])
}

// parseUnixSeconds converts Unix seconds. It returns the zero time for invalid input.
func parseUnixSeconds(f float64) time.Time {
	if !(f > 0 && f < 1e11) {
		return time.Time{}
	}
	return time.UnixMilli(int64(f * 1000)).UTC()
}
