package autonomy_test

import (
	"fmt"
	"sync"
	"testing"

	"hob/autonomy"
	"hob/autonomy/llm/llmtest"
)

// BenchmarkTurn measures a complete turn with an instant model and one tool call: received,
// claimed, two model calls, one change, recorded, answered; all durable.
func BenchmarkTurn(b *testing.B) {
	for _, sessions := range []int{1, 8} {
		b.Run(fmt.Sprintf("sessions=%d", sessions), func(b *testing.B) {
			m := modelFrom(func(r llmtest.Request) llmtest.Answer {
				if r.Round == 0 {
					return callsAnswer(newCall("add_item", fmt.Sprintf(`{"text":"item %d"}`, len(r.Messages))))
				}
				return llmtest.Answer{Text: "done"}
			})
			e := startEngine(b, setup{model: m, change: func(o *autonomy.Options) { o.Slots = sessions }})
			turns := make(chan struct{}, b.N)
			for range b.N {
				turns <- struct{}{}
			}
			close(turns)
			b.ResetTimer()
			var wg sync.WaitGroup
			for s := range sessions {
				wg.Go(func() {
					for range turns {
						e.askHob(fmt.Sprint("s", s), "add it")
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "turns/s")
		})
	}
}
