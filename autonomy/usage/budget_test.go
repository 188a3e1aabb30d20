package usage

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hob/autonomy/llm"
	"hob/platform/store/storetest"
)

// Concurrent conversations cannot exceed a cap together: the maximum cost of a call is reserved
// before it starts.
func TestCaps_HoldForParallelCalls(t *testing.T) {
	path := dbPath(t)
	synctest.Test(t, func(t *testing.T) {
		d := openBooks(t, path, &usageFixture{caps: Caps{Daily: Dollars(0.25)}})
		m := newFake("m", 1000, 1000) // 0.011 each; a call may take up to 0.0823
		m.wait = time.Second
		var wg sync.WaitGroup
		var mu sync.Mutex
		refused := 0
		for range 8 {
			wg.Go(func() {
				for range 10 {
					_, err := d.callModel(m, newRequest(1000))
					mu.Lock()
					if llm.KindOf(err) == llm.Budget {
						refused++
					} else if err != nil {
						t.Error(err)
					}
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		p, err := d.Periods(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if p[0].Cost > p[0].Cap || p[0].Cost < p[0].Cap*9/10 {
			t.Errorf("%s of %s spent after %d calls", p[0].Cost, p[0].Cap, m.callCount())
		}
		if refused+m.callCount() != 80 || refused == 0 {
			t.Errorf("%d calls, %d refused", m.callCount(), refused)
		}
		if s := d.scopes[""]; s.heldMoney != 0 || s.heldTokens != 0 {
			t.Errorf("%s and %d tokens are still reserved", s.heldMoney, s.heldTokens)
		}
		d.closeBooks()
	})
}

// Near the cap, the length of an answer is limited by the remaining budget.
func TestCaps_LimitTheLastAnswer(t *testing.T) {
	d := openBooks(t, dbPath(t), &usageFixture{caps: Caps{Daily: Dollars(0.05)}})
	defer d.closeBooks()
	m := newFake("m", 1000, 100)
	if _, err := d.callModel(m, newRequest(2500)); err != nil {
		t.Fatal(err)
	}
	// 0.05 - 1000 tokens in = 0.049, which is 4900 tokens out.
	if got := m.limits[0]; got < 4800 || got > 4900 {
		t.Errorf("the answer was limited to %d tokens", got)
	}
	d.caps = Caps{Daily: Dollars(5)}
	if _, err := d.callModel(m, newRequest(2500)); err != nil || m.limits[1] != 0 {
		t.Errorf("far below the cap: %v, limit %d", err, m.limits[1])
	}
}

func TestCaps(t *testing.T) {
	for _, tt := range []struct {
		name    string
		caps    Caps
		model   *fake
		refused bool
		told    string
	}{
		{"no cap", Caps{}, newFake("m", 1, 1), false, ""},
		{"far below the cap", Caps{Daily: Dollars(1)}, newFake("m", 1, 1), false, ""},
		{"a day", Caps{Daily: Dollars(0.01)}, newFake("m", 1, 1), true, "hob config set budget.daily_usd 0.02"},
		{"a month", Caps{Daily: Dollars(1), Monthly: Dollars(0.01)}, newFake("m", 1, 1), true, "Until next month"},
		{"tokens", Caps{DailyTokens: 1000}, newFake("m", 1, 1), true, "hob config set budget.daily_tokens 2000"},
		{"tokens of a model without a price", Caps{DailyTokens: 1000}, newFake("strange", 1, 1), true, "1000 tokens a day"},
		{"money for a model without a price", Caps{Daily: Dollars(0.05)}, newFake("strange", 1, 1), true, "cap of $0.05 a day"},
		{"a cheaper model", Caps{Daily: Dollars(0.01)}, newFake("cheap", 1, 1), false, ""},
		{"on this machine", Caps{Daily: 1, DailyTokens: 1}, &fake{info: llm.Info{Provider: "ollama", Model: "x", Local: true}}, false, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := openBooks(t, dbPath(t), &usageFixture{caps: tt.caps})
			defer d.closeBooks()
			for range 2 {
				_, err := d.callModel(tt.model, newRequest(100))
				if (llm.KindOf(err) == llm.Budget) != tt.refused {
					t.Fatalf("got %v", err)
				}
				if tt.refused && !strings.Contains(llm.DescribeError(err), "hob config set") {
					t.Errorf("the error has no remedy: %s", llm.DescribeError(err))
				}
			}
			if err := d.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			said := d.toldSentences()
			want := 0
			if tt.told != "" {
				want = 1
			}
			if tt.name == "money for a model without a price" {
				want = 2 // one of them says that the price is unknown
			}
			if len(said) != want || !strings.Contains(strings.Join(said, "\n"), tt.told) {
				t.Errorf("notices = %q", said)
			}
		})
	}
}

// A cap survives a restart, resets with the user's day, and is reported once.
func TestCaps_FollowTheUsersCalendar(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Vilnius")
	if err != nil {
		t.Fatal(err)
	}
	path := dbPath(t)
	synctest.Test(t, func(t *testing.T) { // begins at 2000-01-01 02:00 in Vilnius
		at := time.Date(2026, 3, 28, 23, 0, 0, 0, zone)
		time.Sleep(time.Until(at))
		d := openBooks(t, path, &usageFixture{zone: zone, caps: Caps{Daily: Dollars(0.02), WarnAt: 0.5}})
		m := newFake("m", 1000, 1000) // 0.011
		ask := func(want bool) {
			t.Helper()
			if _, err := d.callModel(m, newRequest(100)); (err == nil) != want {
				t.Errorf("call at %s: %v", time.Now().In(zone), err)
			}
		}
		ask(true)
		ask(false)
		told := d.told
		d.closeBooks()
		if len(told) != 2 || !strings.Contains(strings.Join(d.toldSentences(), " "), "55 % of the cap of $0.02 a day") {
			t.Errorf("notices = %q", d.toldSentences())
		}
		d = openBooks(t, path, &usageFixture{zone: zone, caps: Caps{Daily: Dollars(0.02), WarnAt: 0.5}, told: told})
		ask(false) // after a restart
		time.Sleep(59 * time.Minute)
		ask(false)
		time.Sleep(time.Minute)
		ask(true) // the 29th, which has 23 hours
		time.Sleep(22*time.Hour + 59*time.Minute)
		ask(false)
		time.Sleep(time.Minute)
		ask(true) // the 30th
		d.caps.Daily = Dollars(1)
		ask(true)
		d.closeBooks()
		if n := len(told); n != 2+1+1+1 { // the 28th; reached and warned on the 29th; warned on the 30th
			t.Errorf("%d sentences: %q", n, d.toldSentences())
		}
	})
}

// An agent has its own caps in addition to the total.
func TestCaps_OfAnAgent(t *testing.T) {
	d := openBooks(t, dbPath(t), &usageFixture{caps: Caps{Daily: Dollars(1)}, agt: map[string]Caps{"scout": {Daily: Dollars(0.02)}}})
	defer d.closeBooks()
	m, r := newFake("m", 1000, 1000), newRequest(100)
	r.Account.Agent = "scout"
	if _, err := d.callModel(m, r); err != nil {
		t.Fatal(err)
	}
	_, err := d.callModel(m, r)
	if llm.KindOf(err) != llm.Budget || !strings.Contains(err.Error(), "for scout") {
		t.Errorf("second call of the agent = %v", err)
	}
	if _, err := d.callModel(m, newRequest(100)); err != nil {
		t.Errorf("call of another agent = %v", err)
	}
}

// The limit of unattended calls counts those of all instances.
func TestCaps_UnattendedCallsOfAllInstances(t *testing.T) {
	if !storetest.OnServer() {
		t.Skip("needs a database that instances share")
	}
	path := dbPath(t)
	synctest.Test(t, func(t *testing.T) {
		a, b := openBooks(t, path, &usageFixture{}), openBooks(t, path, &usageFixture{})
		r := newRequest(10)
		r.Account.Unattended = true
		start := time.Now()
		for n := range 12 {
			if _, err := []*usageFixture{a, b}[n%2].callModel(newFake("m", 1, 1), r); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(start); took != time.Minute {
			t.Errorf("12 calls of two instances took %s, want a minute after the tenth", took)
		}
		a.closeBooks()
		b.closeBooks()
	})
}

// Unattended calls are limited per minute.
func TestCaps_UnattendedCalls(t *testing.T) {
	path := dbPath(t)
	synctest.Test(t, func(t *testing.T) {
		d := openBooks(t, path, &usageFixture{})
		r := newRequest(10)
		r.Account.Unattended = true
		start := time.Now()
		for range 25 {
			if _, err := d.callModel(newFake("m", 1, 1), r); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(start); took != 2*time.Minute {
			t.Errorf("25 calls took %s", took)
		}
		if ok, at := d.CanSpend(time.Now()); !ok {
			t.Errorf("CanSpend() = false until %s", at)
		}
		if _, err := d.callModel(newFake("m", 1, 1), newRequest(10)); err != nil || time.Since(start) != 2*time.Minute {
			t.Errorf("attended call = %v", err)
		}
		d.rate.max = -1
		if _, err := d.callModel(newFake("m", 1, 1), r); llm.KindOf(err) != llm.Budget {
			t.Errorf("call while unattended calls are disabled = %v", err)
		}
		d.closeBooks()
	})
}
