package llm_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"hob/autonomy/llm"
)

type vectors struct {
	calls int
	err   error
}

func (v *vectors) Embed(_ context.Context, texts []string) ([][]float32, llm.Usage, error) {
	v.calls++
	return make([][]float32, len(texts)), llm.Usage{}, v.err
}

func TestEmbedBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &vectors{err: &llm.Error{Kind: llm.Network, Provider: "local"}}
		e := llm.EmbedBreaker(v, llm.Info{Provider: "local"}, llm.BreakerOptions{Failures: 2, Rest: time.Minute})
		embed := func() error {
			_, _, err := e.Embed(t.Context(), []string{"tea"})
			return err
		}
		for range 2 {
			if err := embed(); errors.Is(err, llm.ErrOpen) || err == nil {
				t.Fatalf("the breaker opened too early: %v", err)
			}
		}
		if err := embed(); !errors.Is(err, llm.ErrOpen) || v.calls != 2 {
			t.Fatalf("error %v after %d calls, want an open breaker after 2", err, v.calls)
		}
		if _, _, err := e.Embed(t.Context(), nil); err != nil {
			t.Errorf("Embed without texts = %v", err)
		}
		time.Sleep(time.Minute)
		v.err = nil
		for range 3 {
			if err := embed(); err != nil {
				t.Fatalf("Embed after the pause = %v", err)
			}
		}
	})
}
