package learn

import "testing"

// A statement that the built-in brain asks about is not stored before you answer.
func TestStatement_IsNotStoredWhileHobAsks(t *testing.T) {
	w := openFixture(t)
	w.endTurn(Turn{Text: "I love his cooking", Owner: true, BuiltIn: true, Reply: "Should I remember that you love Tom's cooking?"})
	w.endTurn(Turn{Text: "I prefer window seats", Owner: true, BuiltIn: true, Reply: "Noted: you prefer window seats."})
	list, err := w.l.Statements(w.l.o.Store.Reader(t.Context()))
	if err != nil || len(list) != 1 || list[0].Text != "I prefer window seats" {
		t.Errorf("Statements = %+v, %v, want only the one that needs no answer", list, err)
	}
}
