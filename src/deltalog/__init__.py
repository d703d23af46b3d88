"""deltalog"""
