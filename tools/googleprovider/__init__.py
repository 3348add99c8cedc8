"""Google's own Terraform provider in the place of pulumi-gcp, and Google's APIs in a file.

    pulumi --Pulumi's protocol--> pulumi-google-bridge --HTTP--> tools/googleapi

pulumi-gcp is this same provider (in its beta form) behind the same bridge, so a preview of a program that uses pulumi_gcp runs
the checks that Google wrote, and an ``up`` sends what Google would be sent, without an account.
"""
