# Takes OUTPOST_ENDPOINT and OUTPOST_API_KEY, or the sign-in of `outpost login`.
provider "outpost" {}

# Who runs the steps. `outpost delegate manifest builders` installs it, in six formats.
resource "outpost_delegate" "builders" {
  id       = "builders"
  tags     = ["linux"]
  capacity = 4
}

# Expressions of the pipeline have one sign more here, as Terraform has expressions of its own: $${inputs.version}.
resource "outpost_pipeline" "release" {
  id              = "release"
  description     = "Builds the site, checks it, asks, and publishes what was built."
  timeout_seconds = 3600

  inputs = {
    version = {
      description = "What to release."
      pattern     = "[0-9]+\\.[0-9]+\\.[0-9]+"
    }
    approve = {
      description = "`no` publishes without asking."
      default     = "yes"
    }
  }

  # A step follows the one before it, unless `needs` says otherwise.
  steps = [
    {
      id = "build"
      task = {
        kind      = "shell.run"
        selectors = [outpost_delegate.builders.id]
        params = jsonencode({
          script = file("${path.module}/build.sh")
          # A script is never changed: it gets values as variables.
          env    = { VERSION = "$${inputs.version}" }
          source = { files = { for name in fileset("${path.module}/site", "**") : name => file("${path.module}/site/${name}") } }
          keep   = [{ name = "site.tar.gz", path = "public" }]
        })
      }
    },
    # Side by side, as both need `build` only.
    {
      id    = "links"
      needs = ["build"]
      task = {
        kind      = "shell.run"
        selectors = [outpost_delegate.builders.id]
        params = jsonencode({
          script = "! grep -rn 'href=\"\"' ."
          source = { artifact = { task = "$${steps.build.task}", name = "site.tar.gz" } }
        })
      }
    },
    {
      id    = "size"
      needs = ["build"]
      task = {
        kind      = "shell.run"
        selectors = [outpost_delegate.builders.id]
        params = jsonencode({
          script = "[ \"$BYTES\" -lt 100000 ]"
          env    = { BYTES = "$${steps.build.outputs.bytes}" }
        })
      }
    },
    {
      id        = "approve"
      needs     = ["links", "size"]
      condition = "$${inputs.approve} != 'no'"
      approval = {
        message         = "Publish $${inputs.version} ($${steps.build.outputs.bytes} bytes)?"
        timeout_seconds = 1800
      }
    },
    {
      id = "publish"
      task = {
        kind      = "shell.run"
        selectors = [outpost_delegate.builders.id]
        params = jsonencode({
          script = "grep -q \"version $VERSION\" index.html && echo \"published=$VERSION\" >> \"$OUTPOST_OUTPUT\""
          env    = { VERSION = "$${inputs.version}" }
          source = { artifact = { task = "$${steps.build.task}", name = "site.tar.gz" } }
        })
      }
    },
    {
      id   = "tell"
      when = "always"
      task = {
        kind      = "shell.run"
        selectors = [outpost_delegate.builders.id]
        params = jsonencode({
          script = "echo \"release $VERSION: $STATE\""
          env    = { VERSION = "$${inputs.version}", STATE = "$${steps.publish.state}" }
        })
      }
    },
  ]
}
