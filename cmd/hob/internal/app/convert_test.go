package app

import (
	"testing"

	"hob/autonomy/api"
	"hob/autonomy/api/apitest"
	"hob/autonomy/guard/pairing"
	"hob/cmd/hob/internal/channel"
	"hob/knowledge"
	"hob/tools/files"
)

// TestAPITypes checks that values have the same JSON in the API as before their conversion.
func TestAPITypes(t *testing.T) {
	apitest.SameJSON(t, func(x pairing.Pairing) api.Pairing { return api.Pairing(x) })
	apitest.SameJSON(t, func(x pairing.Code) api.PairingCode { return api.PairingCode(x) })
	apitest.SameJSON(t, func(x channel.Tested) api.ChannelTest { return api.ChannelTest(x) })
	apitest.SameJSON(t, apiTask)
	apitest.SameJSON(t, apiNote)
	apitest.SameJSON(t, apiFact)
	apitest.SameJSON(t, apiEntity)
	apitest.SameJSON(t, func(x knowledge.Relation) api.Relation { return api.Relation(x) })
	apitest.SameJSON(t, func(x knowledge.Route) api.Route { return api.Route(x) })
	apitest.SameJSON(t, apiScorePart)
	apitest.SameJSON(t, apiRowCount)
	apitest.SameJSON(t, apiDocument)
	apitest.SameJSON(t, func(x files.Vouched) api.TrustedFiles { return api.TrustedFiles(x) })
	apitest.SameJSON(t, apiErasurePlan)
	apitest.SameJSON(t, apiErasure)
	apitest.SameJSON(t, apiFinding)
}
