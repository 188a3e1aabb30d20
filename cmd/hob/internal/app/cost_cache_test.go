package app

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"hob/autonomy/llm"
	"hob/autonomy/llm/llmtest"
	"hob/autonomy/usage"
)

// byteBill counts the bytes of a conversation by what a provider charges for.
type byteBill struct {
	requests, sent, before    int
	read, write, rest, answer int
	calls                     []llm.Usage // in tokens
}

// cachedShare returns the share of the sent bytes that the previous request already contained.
func (b byteBill) cachedShare() float64 { return float64(b.before) / float64(b.sent) }

func (b byteBill) formatRows(model string, p usage.Price) string {
	tokens := func(n int) float64 { return float64(n) / 4 }
	answer := llm.Usage{Output: b.answer / 4}
	without, with := p.Cost(answer), p.Cost(answer)
	for _, u := range b.calls {
		with += p.Cost(u)
		without += p.Cost(llm.Usage{Input: u.Input})
	}
	var out strings.Builder
	row := func(name, format string, v ...any) {
		fmt.Fprintf(&out, "| %s | %s |\n", name, fmt.Sprintf(format, v...))
	}
	row("requests", "%d", b.requests)
	row("tokens sent", "%.0f", tokens(b.sent))
	row("sent before", "%.1f %%", 100*b.cachedShare())
	row("read from the cache", "%.1f %%", 100*float64(b.read)/float64(b.sent))
	row("written to the cache", "%.1f %%", 100*float64(b.write)/float64(b.sent))
	row("neither read nor written", "%.1f %%", 100*float64(b.rest)/float64(b.sent))
	row(model+" without a cache", "%.3f $", float64(without)/1e6)
	row(model+" with a cache", "%.3f $ (%.0f %% less)", float64(with)/1e6, 100*(1-float64(with)/float64(without)))
	return out.String()
}

// block is a part of a request that the cache treats as one unit.
type block struct {
	text   string
	marked bool
}

// lookBack is the number of blocks before a mark in which Anthropic searches its cache
// (https://docs.anthropic.com/en/docs/build-with-claude/prompt-caching).
const lookBack = 20

// billConversation bills a conversation as the provider would.
func billConversation(t *testing.T, all []llmtest.Request) byteBill {
	t.Helper()
	b := byteBill{requests: len(all)}
	cached := map[string]bool{} // texts up to a cache mark
	last := ""
	for _, r := range all {
		blocks := blocksOf(t, r)
		var text string
		ends := make([]int, len(blocks)) // the end of each block in text
		for i, x := range blocks {
			text += x.text
			ends[i] = len(text)
		}
		same := commonPrefix(last, text)
		read, write := 0, 0
		if r.API == llmtest.Anthropic {
			read, write = cachedPrefixSizes(blocks, ends, text, cached)
		} else if n := same / 4; n >= 1024 {
			read, write = n/128*128*4, 0
		}
		b.sent, b.before = b.sent+len(text), b.before+same
		b.read, b.write, b.rest = b.read+read, b.write+write, b.rest+len(text)-read-write
		b.calls = append(b.calls, llm.Usage{Input: len(text) / 4, CacheRead: read / 4, CacheWrite: write / 4})
		last = text
	}
	// The last request contains all of the model's answers except the last.
	for _, m := range all[len(all)-1].Messages {
		if m.Role == "assistant" {
			raw, err := json.Marshal(m.Parts)
			failOnError(t, err)
			b.answer += len(raw)
		}
	}
	return b
}

// cachedPrefixSizes returns the sizes of the longest cached prefix that ends at most 20 blocks before a mark,
// and of the text after it up to the last mark. It caches the text up to each mark.
func cachedPrefixSizes(blocks []block, ends []int, text string, cached map[string]bool) (read, write int) {
	end := 0
	for i, x := range blocks {
		if !x.marked {
			continue
		}
		for j := i; j >= 0 && j > i-lookBack; j-- {
			if cached[text[:ends[j]]] {
				read = max(read, ends[j])
				break
			}
		}
		end = ends[i]
	}
	for i, x := range blocks {
		if x.marked {
			cached[text[:ends[i]]] = true
		}
	}
	return read, max(0, end-read)
}

func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// blocksOf lists the tools, the system block and the messages of a request, in
// the order in which providers cache them.
func blocksOf(t *testing.T, r llmtest.Request) []block {
	t.Helper()
	var body struct {
		Tools, Messages []json.RawMessage
		System          json.RawMessage
	}
	failOnError(t, json.Unmarshal(r.Body, &body))
	var out []block
	for _, raw := range body.Tools {
		out = append(out, withoutCacheMark(raw))
	}
	var list []json.RawMessage
	if json.Unmarshal(body.System, &list) == nil {
		for _, raw := range list {
			out = append(out, withoutCacheMark(raw))
		}
	}
	for _, raw := range body.Messages {
		var m struct {
			Role    string
			Content []json.RawMessage
		}
		if r.API != llmtest.Anthropic || json.Unmarshal(raw, &m) != nil {
			out = append(out, withoutCacheMark(raw))
			continue
		}
		for _, c := range m.Content {
			x := withoutCacheMark(c)
			x.text = m.Role + x.text
			out = append(out, x)
		}
	}
	return out
}

// withoutCacheMark removes the cache mark from a block, because the mark is not part of the content.
func withoutCacheMark(raw json.RawMessage) block {
	const mark = `"cache_control":{"type":"ephemeral"}`
	s := string(raw)
	return block{text: strings.NewReplacer(","+mark, "", mark+",", "").Replace(s), marked: strings.Contains(s, mark)}
}
