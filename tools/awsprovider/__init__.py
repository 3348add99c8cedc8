"""AWS's own Terraform provider in the place of pulumi-aws, and an AWS that holds what it makes in memory.

    pulumi --Pulumi's protocol--> proxy --> bridge --Terraform's--> terraform-provider-aws --HTTP--> recorder --> moto

pulumi-aws is this same provider with other names, which its Python package still has; ``proxy`` puts them back. So a preview of
a program that uses pulumi_aws runs the checks that AWS wrote, and an ``up`` sends what AWS would be sent, without an account.
"""
