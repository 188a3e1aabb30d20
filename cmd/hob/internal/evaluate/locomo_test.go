package evaluate

import (
	"cmp"
	"os"
	"path/filepath"
	"testing"
)

// TestConversations measures the retrieval with conversations that are not
// shipped with the program.
func TestConversations(t *testing.T) {
	data := cmp.Or(os.Getenv("HOB_TEST_DATA"), filepath.Join("..", "..", "..", "..", "..", "shared", "data"))
	dirs, _ := filepath.Glob(filepath.Join(data, "locomo", "locomo-*"))
	if len(dirs) == 0 {
		t.Skip("there are no conversations in HOB_TEST_DATA")
	}
	if testing.Short() {
		t.Skip("takes long")
	}
	r, err := Run(t.Context(), dirs, Options{Temp: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if r.Recall10 < 0.78 || r.Any10 < 0.85 {
		t.Errorf("recall@10 %.4f, any@10 %.4f", r.Recall10, r.Any10)
	}
	t.Logf("recall@10 %.4f, any@10 %.4f, mrr %.4f, p95 %.1f ms", r.Recall10, r.Any10, r.MRR, r.P95)
}
