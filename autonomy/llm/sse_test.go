package llm_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"hob/autonomy/llm"
)

func TestReader(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     []string // "name|data"
	}{
		{"plain", "data: a\n\ndata: b\n\n", []string{"|a", "|b"}},
		{"no space", "data:a\n\n", []string{"|a"}},
		{"two spaces", "data:  a\n\n", []string{"| a"}},
		{"CRLF", "data: a\r\n\r\nevent: e\r\ndata: b\r\n\r\n", []string{"|a", "e|b"}},
		{"comments", ": ping\n\n:\n\ndata: a\n: x\n\n", []string{"|a"}},
		{"many lines", "data: {\ndata: \"a\":1}\n\n", []string{"|{\n\"a\":1}"}},
		{"other fields", "id: 1\nretry: 5\nfoo\ndata: a\n\n", []string{"|a"}},
		{"an event without data is ignored", "event: e\n\ndata: a\n\n", []string{"|a"}},
		{"empty data", "data\n\ndata:\n\n", []string{"|", "|"}},
		{"no empty line at the end", "data: a\n\ndata: [DONE]", []string{"|a", "|[DONE]"}},
		{"no empty lines at all", "data: {\"a\":1}\ndata: {\"b\":2}\ndata: [DONE]\n", []string{`|{"a":1}`, `|{"b":2}`, "|[DONE]"}},
		{"llama.cpp error", "error: {\"code\":500}\n\n", []string{`error|{"code":500}`}},
		{"nothing", "", nil},
		{"only white space", "\n\n \n", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, in := range []io.Reader{strings.NewReader(c.in), iotest.OneByteReader(strings.NewReader(c.in))} {
				r := llm.NewEventReader(in)
				var got []string
				for {
					e, err := r.Next()
					if err != nil {
						if !errors.Is(err, io.EOF) {
							t.Fatal(err)
						}
						break
					}
					got = append(got, e.Name+"|"+string(e.Data))
				}
				if d := cmp.Diff(c.want, got); d != "" {
					t.Error(d)
				}
			}
		})
	}
}

func TestReader_Limits(t *testing.T) {
	for name, in := range map[string]io.Reader{
		"one line":   endlessBody("x"),
		"many lines": io.MultiReader(strings.NewReader("data: {\n"), endlessBody("data: 1234567\n")),
	} {
		if _, err := llm.NewEventReader(in).Next(); !errors.Is(err, llm.ErrTooLong) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

type endlessBody string

func (e endlessBody) Read(p []byte) (int, error) {
	n := 0
	for n+len(e) <= len(p) {
		n += copy(p[n:], e)
	}
	return n, nil
}
