"""The policy pack: `pulumi preview --policy-pack policies`. Its rules and how to configure them: docs/policies.md."""

from gpufabric.policy import PACK, RULES
from gpufabric.policy.server import serve

serve(PACK, RULES)
