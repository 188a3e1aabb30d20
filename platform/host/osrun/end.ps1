try {
  $in = [Console]::In.ReadToEnd() | ConvertFrom-Json
  $null = Main $in
  Say @{ ok = $true; data = $script:answer }
} catch {
  $e = $_.Exception
  while ($e.InnerException) { $e = $e.InnerException }
  Say @{ ok = $false; number = [int]$e.HResult; kind = $script:refused; message = [string]$e.Message; began = ($script:began -and -not $script:refused) }
}
