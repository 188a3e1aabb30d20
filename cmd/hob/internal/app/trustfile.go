package app

import (
	"context"
	"encoding/json"
	"time"

	"hob/autonomy/api"
	"hob/autonomy/guard"
	"hob/autonomy/service"
	"hob/platform/store"
)

// TrustFile implements api.Documents.
func (b *backend) TrustFile(ctx context.Context, path string) (api.TrustedFiles, error) {
	args, err := json.Marshal(path)
	if err != nil {
		return api.TrustedFiles{}, err
	}
	out, err := b.d.files.Vouch(ctx, path, time.Now(), func(tx *store.Tx) error {
		return b.d.guard.AuditTx(tx, guard.Record{
			Actor: "owner", Action: "trust", Origin: "api", Verdict: "allow", Rule: "owner's command", Outcome: "done", Args: args,
		})
	})
	return api.TrustedFiles(out), service.Classify(err)
}
