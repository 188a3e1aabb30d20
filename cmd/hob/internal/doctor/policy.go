package doctor

import (
	"context"
	"fmt"

	"hob/autonomy/guard/rules"
)

// checkPolicy reads the owner's rules: a broken file denies every call.
func checkPolicy(_ context.Context, e Env) []Check {
	list, err := rules.New(e.Paths.PolicyDir(), rules.Options{}).List()
	if err != nil {
		return failWithError("policy", err, "fix the file, or remove it from "+e.Paths.PolicyDir())
	}
	if len(list) == 0 {
		return okCheck("policy", "no policy rules")
	}
	return okCheck("policy", fmt.Sprintf("%d policy rules", len(list)))
}
