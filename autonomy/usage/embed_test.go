package usage

import (
	"context"
	"errors"
	"strings"
	"testing"

	"hob/autonomy/llm"
)

type vectors struct {
	calls int
	usage llm.Usage
	err   error
}

func (v *vectors) Embed(_ context.Context, texts []string) ([][]float32, llm.Usage, error) {
	v.calls++
	if v.err != nil {
		return nil, llm.Usage{}, v.err
	}
	return make([][]float32, len(texts)), v.usage, nil
}

func TestEmbed_IsRecordedAndLimited(t *testing.T) {
	info := llm.Info{Provider: "p", Model: "m"} // one dollar per million tokens
	refusal := &llm.Error{Kind: llm.Unauthorized, Provider: "p", Status: 401}
	for _, tt := range []struct {
		name  string
		info  llm.Info
		caps  Caps
		fails error
		calls int // of two
		cost  Micros
		kind  llm.ErrorKind
	}{
		{"no cap", info, Caps{}, nil, 2, 80, ""},
		{"within the cap", info, Caps{Daily: Dollars(1)}, nil, 2, 80, ""},
		{"the second call exceeds the cap", info, Caps{Daily: Micros(50)}, nil, 1, 40, llm.Budget},
		{"both are", info, Caps{DailyTokens: 10}, nil, 0, 0, llm.Budget},
		{"on this machine", llm.Info{Provider: "ollama", Model: "x", Local: true}, Caps{Daily: 1, DailyTokens: 1}, nil, 2, 0, ""},
		{"a refusal is free", info, Caps{Daily: Dollars(1)}, refusal, 2, 0, llm.Unauthorized},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := openBooks(t, dbPath(t), &usageFixture{caps: tt.caps})
			defer d.closeBooks()
			v := &vectors{usage: llm.Usage{Input: 40, Known: true}, err: tt.fails}
			e := d.MeterEmbedder(v, tt.info, llm.Account{}, MeterOptions{})
			var last error
			for range 2 {
				_, _, last = e.Embed(t.Context(), []string{strings.Repeat("x", 60), strings.Repeat("y", 40)})
			}
			if llm.KindOf(last) != tt.kind || v.calls != tt.calls {
				t.Errorf("%d calls, last error %v", v.calls, last)
			}
			if err := d.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			var cost Micros
			var rows int
			err := d.db.Reader(t.Context()).QueryRow(`SELECT count(*), coalesce(sum(counted), 0) FROM model_calls WHERE purpose = 'vectors'`).Scan(&rows, &cost)
			if err != nil || rows != tt.calls || cost != tt.cost {
				t.Errorf("%d rows with a cost of %s, %v", rows, cost, err)
			}
		})
	}
}

func TestEmbed_MakesNoCallWithoutTexts(t *testing.T) {
	d := openBooks(t, dbPath(t), &usageFixture{})
	defer d.closeBooks()
	v := &vectors{err: errors.New("asked")}
	if _, _, err := d.MeterEmbedder(v, llm.Info{}, llm.Account{}, MeterOptions{}).Embed(t.Context(), nil); err != nil || v.calls > 0 {
		t.Errorf("%d calls, %v", v.calls, err)
	}
}
