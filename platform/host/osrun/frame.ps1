# What every script for Windows PowerShell 5.1 stands in. A script defines
# Main($in), which calls Answer once. It has:
#   Answer @{...}       what is answered
#   Commence            what follows has effects
#   Refuse kind text    ends the script, nothing having been done
$ErrorActionPreference = 'Stop'
$ProgressPreference = 'SilentlyContinue'
$WarningPreference = 'SilentlyContinue'
$ConfirmPreference = 'None'
Set-StrictMode -Off
if ($ExecutionContext.SessionState.LanguageMode -ne 'FullLanguage') {
  "`n--hob--`n" + '{"ok":false,"kind":"policy_blocked"}'
  exit 0
}
$script:answer = $null
$script:began = $false
$script:refused = ''
function Say($what) {
  $json = ConvertTo-Json -Compress -Depth 8 -InputObject $what
  $json = [regex]::Replace($json, '[^\x20-\x7e]', { param($m) '\u{0:x4}' -f [int][char]$m.Value })
  [Console]::Out.Write("`n--hob--`n" + $json)
}
function Answer($data) { $script:answer = $data }
function Commence { $script:began = $true }
function Refuse($kind, $text) {
  $script:refused = $kind
  throw $text
}
