package daemon

import (
	"context"
	"encoding/json"
	"time"

	"hob/autonomy/guard"
	"hob/platform/store"
)

// TrustFile implements web.Backend.
func (b *backend) TrustFile(ctx context.Context, path string) (any, error) {
	args, err := json.Marshal(path)
	if err != nil {
		return nil, err
	}
	out, err := b.d.files.Vouch(ctx, path, time.Now(), func(tx *store.Tx) error {
		return b.d.guard.AuditTx(tx, guard.Record{
			Actor: "owner", Action: "trust", Origin: "api", Verdict: "allow", Rule: "owner's command", Outcome: "done", Args: args,
		})
	})
	return out, classifyError(err)
}
