"""What a launch asks of the GPU, counted without simulating it.

Why so: what decides a launch's control flow is executed for a few of its workgroups, so that instructions are counted
and not guessed from multiply-accumulates. Tiles that few results fill take 30 times as many as those say.
"""
